// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/machine/fuse_daemons.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "store/test_support.hpp"

namespace iotrail::capture {
namespace {

namespace fs = std::filesystem;

class FuseDaemonsTest : public ::testing::Test {
protected:
  void write(const std::string& file, std::string_view text) {
    const fs::path path = proc_ / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void mount(unsigned minor, const std::string& point, std::string_view type) {
    mounts_ += fmt::format("90 48 0:{} / {} rw - {} source rw\n", minor, point, type);
    write("self/mountinfo", mounts_);
  }
  // `fdinfo`: what the kernel says about its descriptor of /dev/fuse.
  void run(int pid, const std::string& comm, std::string_view command, std::string_view fdinfo) {
    const std::string process = fmt::format("{}", pid);
    write(process + "/comm", comm + "\n");
    write(process + "/cmdline", command);
    write(process + "/fdinfo/8", fdinfo);
    fs::create_directories(proc_ / process / "fd");
    fs::create_symlink("/dev/null", proc_ / process / "fd/0");
    fs::create_symlink("/dev/fuse", proc_ / process / "fd/8");
  }
  void end(int pid) { fs::remove_all(proc_ / fmt::format("{}", pid)); }
  static std::string found(FuseDaemons& daemons) {
    daemons.look();
    std::string text;
    for (const FuseDaemon& daemon : daemons.found())
      text += fmt::format("{} {} {}[{}];", daemon.device, daemon.point, daemon.name, daemon.pid);
    return text;
  }
  std::string found_anew() {
    FuseDaemons daemons(proc_.path());
    return found(daemons);
  }

  store::testing::TemporaryDirectory proc_;
  std::string mounts_;
};

constexpr std::string_view kOldKernel = "pos:\t0\nflags:\t02100002\n";

TEST_F(FuseDaemonsTest, descriptors_name_their_file_systems) {
  mount(38, "/a", "fuse.sshfs");
  mount(39, "/b", "fuse");
  mount(40, "/sys/fs/fuse/connections", "fusectl");
  run(7, "sshfs", "", "pos:\t0\nfuse_connection:\t38\n");
  run(9, "other", "", "pos:\t0\nfuse_connection:\t39\n");
  EXPECT_EQ(found_anew(), "38 /a sshfs[7];39 /b other[9];");
}

TEST_F(FuseDaemonsTest, a_trace_has_them_as_tags) {
  mount(38, "/a", "fuse.sshfs");
  run(7, "sshfs", "", "fuse_connection:\t38\n");
  FuseDaemons daemons(proc_.path());
  daemons.look();
  const std::map<std::string, std::string> expected = {{"iotrail.fuse.38.comm", "sshfs"},
                                                       {"iotrail.fuse.38.mount", "/a"},
                                                       {"iotrail.fuse.38.pid", "7"}};
  EXPECT_EQ(daemons.tags(), expected);
}

TEST_F(FuseDaemonsTest, the_only_one_is_it_on_older_kernels) {
  mount(38, "/a", "fuse.sshfs");
  EXPECT_EQ(found_anew(), "");
  run(7, "sshfs", "", kOldKernel);
  EXPECT_EQ(found_anew(), "38 /a sshfs[7];");
  run(8, "other", "", kOldKernel);
  EXPECT_EQ(found_anew(), "") << "either could be it";
}

TEST_F(FuseDaemonsTest, a_command_line_names_the_mount_point) {
  using namespace std::string_view_literals;
  mount(38, "/a", "fuse.sshfs");
  mount(39, "/b", "fuse.sshfs");
  run(7, "sshfs", "sshfs\0host:\0/b/\0"sv, kOldKernel);
  run(8, "sshfs", "sshfs\0host:\0/ab\0"sv, kOldKernel);
  EXPECT_EQ(found_anew(), "39 /b sshfs[7];");
}

TEST_F(FuseDaemonsTest, a_child_replaces_its_parent) {
  mount(38, "/a", "fuse");
  run(7, "parent", "", "fuse_connection:\t38\n");
  FuseDaemons daemons(proc_.path());
  EXPECT_EQ(found(daemons), "38 /a parent[7];");
  end(7);
  run(12, "child", "", "fuse_connection:\t38\n");
  EXPECT_EQ(found(daemons), "38 /a child[12];");
  end(12);
  EXPECT_EQ(found(daemons), "38 /a child[12];") << "it served the file system";
}

TEST_F(FuseDaemonsTest, mounts_without_number_are_bounded) {
  for (unsigned minor = 1; minor < 500; ++minor)
    mount(minor, fmt::format("/{}", minor), "fuse");
  run(7, "one", "", "fuse_connection:\t5\n");
  run(8, "two", "", "fuse_connection:\t499\n");
  EXPECT_EQ(found_anew(), "5 /5 one[7];");
}

} // namespace
} // namespace iotrail::capture
