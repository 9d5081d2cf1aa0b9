// SPDX-License-Identifier: BSD-3-Clause
//
// Shared blocks, copies without data transfer, access control lists, and files named after
// creation: the layer vfs records exactly these, and their calls.
#include <linux/fs.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "kernel_fixture.hpp"
#include "mounted_file_system.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kShareBlock = 4096;
constexpr std::size_t kShareBytes = 16 * kShareBlock;

class KernelVfsShare : public KernelTest, public testing::WithParamInterface<FileSystemKind> {
protected:
  void SetUp() override {
    system_.emplace(folder_ / "disk", folder_ / "mounted", GetParam());
    if (!system_->refusal().empty())
      GTEST_SKIP() << system_->refusal();
    from_ = *system_ / "from";
    to_ = *system_ / "to";
    for (const std::string& path : {from_, to_}) {
      const Fd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
      const std::string text(kShareBytes, 'x');
      ASSERT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
      ASSERT_EQ(::fsync(file.get()), 0);
    }
    set_begin();
  }

  void record(const std::function<int(int from, int to)>& body) {
    recording_ =
        record_on(GetParam(), {.events = {"vfs_copy", "syscall_copy", "syscall_ioctl"}}, [&] {
          return body(::open(from_.c_str(), O_RDWR | O_CLOEXEC),
                      ::open(to_.c_str(), O_RDWR | O_CLOEXEC));
        });
    if (recording_.refusal().empty())
      check_child_and_account();
  }

  struct Share {
    iot_value call;
    std::int64_t in_offset, out_offset;
    std::uint64_t bytes;
    std::int64_t result;
  };
  // Checks these shares in this order, each within its call of `table`.
  void expect_shares(const std::vector<Share>& expected, const std::string& table) const {
    const std::vector<Row>& rows = recording_.rows("vfs_copy");
    const std::vector<Row>& calls = recording_.rows(table);
    ASSERT_EQ(rows.size(), expected.size());
    ASSERT_EQ(calls.size(), expected.size());
    for (std::size_t at = 0; at < rows.size(); ++at) {
      SCOPED_TRACE(at);
      check_operation(rows[at]);
      EXPECT_EQ(rows[at].u("call"), static_cast<std::uint64_t>(expected[at].call));
      EXPECT_EQ(recording_.path(rows[at].u("in_file")), from_);
      EXPECT_EQ(recording_.path(rows[at].u("out_file")), to_);
      EXPECT_EQ(rows[at].s("in_offset"), expected[at].in_offset);
      EXPECT_EQ(rows[at].s("out_offset"), expected[at].out_offset);
      EXPECT_EQ(rows[at].u("bytes_requested"), expected[at].bytes);
      EXPECT_EQ(rows[at].s("result"), expected[at].result);
      EXPECT_EQ(rows[at].u("op_id"), calls[at].u("op_id"));
    }
  }

  ScratchDirectory folder_;
  std::optional<MountedFileSystem> system_;
  std::string from_;
  std::string to_;
};

INSTANTIATE_TEST_SUITE_P(KernelVfs, KernelVfsShare, testing::Values(kXfs, kBtrfs),
                         [](const auto& of) { return of.param.name; });

TEST_P(KernelVfsShare, vfs_copy_of_clones) {
  RECORD_EVENT("vfs_copy", [](int from, int to) {
    file_clone_range range{from, kShareBlock, 3 * kShareBlock, 2 * kShareBlock};
    file_clone_range odd{from, 1, 1, 1}; // not a whole block
    return ::ioctl(to, FICLONE, from) == 0 && ::ioctl(to, FICLONERANGE, &range) == 0 &&
                   ::ioctl(to, FICLONERANGE, &odd) == -1
               ? 0
               : 1;
  });
  expect_shares({{IOT_vfs_call_vfs_clone_file_range, 0, 0, 0, kShareBytes},
                 {IOT_vfs_call_vfs_clone_file_range, kShareBlock, 2 * kShareBlock, 3 * kShareBlock,
                  3 * kShareBlock},
                 {IOT_vfs_call_vfs_clone_file_range, 1, 1, 1, -EINVAL}},
                "syscall_ioctl");
  const iot_u32 commands[] = {FICLONE, FICLONERANGE, FICLONERANGE};
  for (std::size_t at = 0; at < 3; ++at)
    EXPECT_EQ(recording_.rows("syscall_ioctl").at(at).u("request"), commands[at]);
}

// Compares one range of a file with a range of another.
struct Dedupe {
  file_dedupe_range& head() { return *reinterpret_cast<file_dedupe_range*>(bytes); }
  file_dedupe_range_info& target() { return *head().info; }

  alignas(file_dedupe_range)
      std::byte bytes[sizeof(file_dedupe_range) + sizeof(file_dedupe_range_info)]{};
};

TEST_P(KernelVfsShare, vfs_copy_of_equal_ranges) {
  RECORD_EVENT("vfs_copy", [](int from, int to) {
    const auto share = [&](std::uint64_t begin, std::uint64_t bytes) {
      Dedupe dedupe{};
      dedupe.head().src_offset = begin;
      dedupe.head().src_length = bytes;
      dedupe.head().dest_count = 1;
      dedupe.target().dest_fd = to;
      dedupe.target().dest_offset = begin;
      return ::ioctl(from, FIDEDUPERANGE, dedupe.bytes) == 0 ? dedupe : Dedupe{};
    };
    Dedupe same = share(kShareBlock, 4 * kShareBlock);
    if (::pwrite(to, "y", 1, 9 * kShareBlock) != 1)
      return 1;
    Dedupe other = share(8 * kShareBlock, 4 * kShareBlock);
    return same.target().status == FILE_DEDUPE_RANGE_SAME &&
                   same.target().bytes_deduped == 4 * kShareBlock &&
                   other.target().status == FILE_DEDUPE_RANGE_DIFFERS
               ? 0
               : 2;
  });
  expect_shares({{IOT_vfs_call_vfs_dedupe_file_range_one, kShareBlock, kShareBlock, 4 * kShareBlock,
                  4 * kShareBlock},
                 {IOT_vfs_call_vfs_dedupe_file_range_one, 8 * kShareBlock, 8 * kShareBlock,
                  4 * kShareBlock, -EBADE}},
                "syscall_ioctl");
}

TEST_P(KernelVfsShare, vfs_copy_that_shares_or_moves_data) {
  RECORD_EVENT("vfs_copy", [](int from, int to) {
    const auto copy = [&](loff_t begin, loff_t target, std::size_t bytes) {
      return ::copy_file_range(from, &begin, to, &target, bytes, 0);
    };
    return copy(0, 0, 4 * kShareBlock) == 4 * kShareBlock && copy(1, 4099, 5000) == 5000 &&
                   copy(kShareBytes - 100, 7, 5000) == 100
               ? 0
               : 1;
  });
  expect_shares({{IOT_vfs_call_vfs_copy_file_range, 0, 0, 4 * kShareBlock, 4 * kShareBlock},
                 {IOT_vfs_call_vfs_copy_file_range, 1, 4099, 5000, 5000},
                 {IOT_vfs_call_vfs_copy_file_range, kShareBytes - 100, 7, 5000, 100}},
                "syscall_copy");
  for (const Row& row : recording_.rows("syscall_copy"))
    EXPECT_EQ(row.s("result"),
              recording_.rows("vfs_copy", "op_id", row.u("op_id")).at(0).s("result"));
}

class KernelVfsNameless : public KernelFileTest {
protected:
  void record(const std::vector<std::string>& events, const std::function<int()>& body) {
    recording_ = Recording::alone({.events = events}, body);
    if (recording_.refusal().empty())
      check_child_and_account();
  }
};

// The kernel's format: rights of the owner, one more user, the group and all others.
struct AccessList {
  posix_acl_xattr_header head{POSIX_ACL_XATTR_VERSION};
  posix_acl_xattr_entry entries[5] = {{ACL_USER_OBJ, 6, 0xffffffff},
                                      {ACL_USER, 4, 1},
                                      {ACL_GROUP_OBJ, 0, 0xffffffff},
                                      {ACL_MASK, 4, 0xffffffff},
                                      {ACL_OTHER, 0, 0xffffffff}};
};

TEST_F(KernelVfsNameless, vfs_xattr_of_access_control_lists) {
  const std::string attribute = "system.posix_acl_access";
  const AccessList list;
  if (::setxattr(file_.c_str(), attribute.c_str(), &list, sizeof list, 0) != 0 ||
      ::removexattr(file_.c_str(), attribute.c_str()) != 0)
    GTEST_SKIP() << "the file system keeps no access control lists";
  record({"vfs_xattr", "syscall_xattr"}, [&] {
    char room[100];
    return ::setxattr(file_.c_str(), attribute.c_str(), &list, sizeof list, 0) == 0 &&
                   ::getxattr(file_.c_str(), attribute.c_str(), room, sizeof room) == sizeof list &&
                   ::removexattr(file_.c_str(), attribute.c_str()) == 0
               ? 0
               : 1;
  });
  if (!recording_.refusal().empty())
    GTEST_SKIP() << recording_.refusal();
  const std::vector<Row>& calls = recording_.rows("syscall_xattr");
  const std::uint64_t bytes[] = {sizeof list, 100, 0};
  const std::int64_t results[] = {0, sizeof list, 0};
  ASSERT_EQ(calls.size(), 3U);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_EQ(calls[at].u("bytes_requested"), bytes[at]);
    EXPECT_EQ(calls[at].s("result"), results[at]);
    EXPECT_EQ(recording_.string(calls[at].u("name")), attribute);
  }
  SKIP_UNLESS_SERVED(recording_, "vfs_xattr");
  const bool has_functions_for_lists =
      recording_.hook_of("vfs_xattr").hook.find("vfs_set_acl") != std::string::npos;
  const iot_value for_lists[] = {IOT_vfs_call_vfs_set_acl, IOT_vfs_call_vfs_get_acl,
                                 IOT_vfs_call_vfs_remove_acl};
  const iot_value for_all[] = {IOT_vfs_call_vfs_setxattr, IOT_vfs_call_vfs_getxattr,
                               IOT_vfs_call_vfs_removexattr};
  const std::vector<Row>& rows = recording_.rows("vfs_xattr");
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t at = 0; at < 3; ++at) {
    check_operation(rows[at]);
    EXPECT_EQ(rows[at].u("op_id"), calls[at].u("op_id"));
    EXPECT_EQ(rows[at].u("call"),
              static_cast<std::uint64_t>((has_functions_for_lists ? for_lists : for_all)[at]));
    EXPECT_EQ(recording_.path(rows[at].u("file")), file_);
    EXPECT_EQ(recording_.string(rows[at].u("name")), attribute);
    EXPECT_EQ(rows[at].u("bytes_requested"), has_functions_for_lists ? 0 : bytes[at]);
    EXPECT_EQ(rows[at].s("result"), has_functions_for_lists ? 0 : results[at]);
  }
}

TEST_F(KernelVfsNameless, vfs_link_of_a_file_that_had_no_name) {
  const std::filesystem::path named = directory_ / "named";
  record(
      {"vfs_open", "vfs_write", "vfs_link", "syscall_open", "syscall_write", "syscall_link"}, [&] {
        const int fd = ::open(directory_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0 || ::write(fd, "one", 3) != 3)
          return 1;
        const std::string own = "/proc/self/fd/" + std::to_string(fd);
        return ::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, named.c_str(), AT_SYMLINK_FOLLOW) == 0 &&
                       ::write(fd, "seven", 5) == 5
                   ? 0
                   : 2;
      });
  if (!recording_.refusal().empty())
    GTEST_SKIP() << recording_.refusal();
  const std::vector<Row>& opens = recording_.rows("syscall_open");
  ASSERT_FALSE(opens.empty());
  EXPECT_EQ(opens[0].u("flags") & O_TMPFILE, std::uint64_t{O_TMPFILE});
  EXPECT_EQ(opens[0].u("mode"), 0600U);
  EXPECT_EQ(recording_.string(opens[0].u("path")), directory_);
  const std::uint64_t file = opens[0].u("file");
  EXPECT_TRUE(recording_.path(file).starts_with(directory_.native() + "/#"))
      << recording_.path(file);
  const auto expect_writes = [&](const std::vector<Row>& writes) {
    ASSERT_EQ(writes.size(), 2U);
    EXPECT_EQ(writes[0].s("result"), 3);
    EXPECT_EQ(writes[1].s("result"), 5);
    for (const Row& row : writes)
      EXPECT_EQ(row.u("file"), file) << "it is the same, with a name or without";
  };
  expect_writes(recording_.rows("syscall_write"));
  SKIP_UNLESS_SERVED(recording_, "vfs_link");
  expect_writes(recording_.rows("vfs_write"));
  const std::vector<Row>& links = recording_.rows("vfs_link");
  ASSERT_EQ(links.size(), 1U);
  check_operation(links[0]);
  EXPECT_EQ(links[0].u("file"), file);
  EXPECT_EQ(links[0].s("result"), 0);
  EXPECT_EQ(recording_.string(links[0].u("name")), "named");
  EXPECT_EQ(recording_.path(links[0].u("directory")), directory_);
  EXPECT_EQ(recording_.rows("syscall_link").at(0).u("op_id"), links[0].u("op_id"));
}

} // namespace
} // namespace iotrail::live
