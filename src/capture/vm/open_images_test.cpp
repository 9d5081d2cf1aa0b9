// SPDX-License-Identifier: BSD-3-Clause
#include "capture/vm/open_images.hpp"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "capture/vm/test_image.hpp"
#include "store/test_support.hpp"

namespace iotrail::capture::vm {
namespace {

constexpr pid_t kPid = 7;

// A process as /proc shows it, with links in the place of its open files.
class OpenImagesTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::filesystem::create_directories(process() / "fd");
    std::filesystem::create_directory_symlink("/", process() / "root");
    std::filesystem::create_directory_symlink(folder_.path(), process() / "cwd");
  }

  std::filesystem::path process() const { return folder_ / "proc" / std::to_string(kPid); }
  std::string path(const std::string& name) const { return (folder_ / name).native(); }

  void run(const std::vector<std::string>& words) const {
    std::ofstream file(process() / "cmdline");
    for (const std::string& word : words)
      file << word << '\0';
  }
  void open(const std::string& target) {
    std::filesystem::create_symlink(target, process() / "fd" / std::to_string(next_fd_++));
  }
  void write(const std::string& name, const TestImage& image) {
    std::ofstream(path(name))
        .write(reinterpret_cast<const char*>(image.bytes.data()),
               static_cast<std::streamsize>(image.bytes.size()));
    open(path(name));
  }
  void write_text(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    open(path(name));
  }

  OpenImages images() const {
    auto found = OpenImages::of(kPid, path("proc"));
    EXPECT_TRUE(found) << found.error().message();
    return std::move(*found);
  }

  store::testing::TemporaryDirectory folder_;
  int next_fd_ = 3;
};

TEST_F(OpenImagesTest, a_drive_with_its_backing_files) {
  TestImage top;
  top.set_backing("middle", "qcow2");
  top.map(3, 12);
  TestImage middle;
  middle.set_backing(path("base"), "raw");
  write("top", top);
  write("middle", middle);
  write("base", top); // a raw image: a QCOW2 in it is the guest's
  write_text("log", "not an image");
  run({"qemu-system-x86_64", "-name", "web1", "-drive", "file=top,format=qcow2,if=none,id=d",
       "-device", "virtio-blk-pci,drive=d,id=disk0"});
  const OpenImages machine = images();
  EXPECT_EQ(machine.machine(), "web1");
  ASSERT_EQ(machine.images().size(), 3U);
  const char* names[] = {"top", "middle", "base"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(machine.images()[i].path, path(names[i]));
    EXPECT_EQ(machine.images()[i].drive, "disk0");
    EXPECT_EQ(machine.images()[i].depth, i);
    struct stat status{};
    ASSERT_EQ(::stat(path(names[i]).c_str(), &status), 0);
    EXPECT_EQ(machine.images()[i].inode, status.st_ino);
    EXPECT_NE(machine.images()[i].device, 0U);
  }
  EXPECT_EQ(machine.images()[0].format, static_cast<iot_u32>(IOT_vm_format_qcow2));
  EXPECT_EQ(machine.images()[0].backing, "middle");
  EXPECT_EQ(machine.images()[0].guest_bytes, TestImage::kGuestBytes);
  EXPECT_EQ(machine.images()[2].format, static_cast<iot_u32>(IOT_vm_format_raw));
  MapBudget budget;
  EXPECT_EQ(read_image_map(machine.images()[2], budget).ranges.size(), 1U);
  EXPECT_EQ(read_image_map(machine.images()[0], budget).ranges.size(), 5U);
}

TEST_F(OpenImagesTest, the_map_is_as_of_now_even_if_the_name_is_gone) {
  TestImage image;
  write("a", image);
  run({"qemu-system-x86_64", "-hda", path("a")});
  const OpenImages machine = images();
  MapBudget budget;
  EXPECT_EQ(read_image_map(machine.images().at(0), budget).ranges.size(), 4U);
  image.map(3, 12);
  std::ofstream(path("a")).write(reinterpret_cast<const char*>(image.bytes.data()),
                                 static_cast<std::streamsize>(image.bytes.size()));
  std::filesystem::remove_all(folder_ / "proc");
  std::filesystem::remove(path("a"));
  EXPECT_EQ(read_image_map(machine.images().at(0), budget).ranges.size(), 5U);
}

TEST_F(OpenImagesTest, images_that_come_while_the_machine_runs) {
  write("a", TestImage());
  run({"qemu-system-x86_64", "-hda", path("a")});
  OpenImages machine = images();
  TestImage overlay;
  overlay.set_backing("a", "qcow2");
  write("overlay", overlay);
  machine.look();
  machine.look();
  ASSERT_EQ(machine.images().size(), 2U);
  EXPECT_EQ(machine.images()[1].path, path("overlay"));
  EXPECT_EQ(machine.images()[1].drive, "") << "the command line does not know it";
}

TEST_F(OpenImagesTest, formats) {
  write_text("vmdk", "KDMV" + std::string(100, 'x'));
  write_text("broken", "QFI\xfb" + std::string(100, 'x'));
  write_text("tiny", "x");
  write_text("forced", "KDMV" + std::string(100, 'x'));
  run({"qemu-system-x86_64", "-hda", path("vmdk"), "-hdb", path("broken"), "-hdc", path("tiny"),
       "-drive", "format=raw,file=" + path("forced")});
  const OpenImages machine = images();
  ASSERT_EQ(machine.images().size(), 4U);
  EXPECT_EQ(machine.images()[0].format, static_cast<iot_u32>(IOT_vm_format_other));
  EXPECT_EQ(machine.images()[1].format, static_cast<iot_u32>(IOT_vm_format_other));
  EXPECT_EQ(machine.images()[2].format, static_cast<iot_u32>(IOT_vm_format_raw));
  EXPECT_EQ(machine.images()[3].format, static_cast<iot_u32>(IOT_vm_format_raw));
  MapBudget budget;
  EXPECT_FALSE(read_image_map(machine.images()[0], budget).is_complete);
}

TEST_F(OpenImagesTest, a_file_that_was_passed) {
  write("a", TestImage());
  run({"qemu-system-x86_64", "-add-fd", "set=1,fd=3", "-blockdev",
       R"({"driver":"qcow2","node-name":"n","file":{"driver":"file","filename":"/dev/fdset/1"}})"});
  ASSERT_EQ(images().images().size(), 1U);
  EXPECT_EQ(images().images()[0].drive, "n");
}

// A backing file that names itself, a FIFO, a device and files that are not open: nothing blocks,
// and nothing is opened but what the machine has open.
TEST_F(OpenImagesTest, forged_images) {
  TestImage loop;
  loop.set_backing("loop", "qcow2");
  write("loop", loop);
  TestImage stranger;
  stranger.set_backing("/etc/passwd", "raw");
  write("stranger", stranger);
  TestImage fifo;
  fifo.set_backing("fifo", "raw");
  write("named", fifo);
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  open(path("fifo"));
  open("/dev/zero");
  open("pipe:[7]");
  run({"qemu-system-x86_64", "-hda", path("loop"), "-hdb", path("stranger"), "-hdc", path("named"),
       "-hdd", path("fifo"), "-cdrom", "/dev/zero"});
  EXPECT_EQ(images().images().size(), 3U);
}

TEST_F(OpenImagesTest, no_such_process) {
  EXPECT_FALSE(OpenImages::of(8, path("proc")));
}

} // namespace
} // namespace iotrail::capture::vm
