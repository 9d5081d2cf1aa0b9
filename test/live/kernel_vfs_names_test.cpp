// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer vfs that does not concern a file's data: one known operation
// in a child, every field of its record, and its call's record.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <filesystem>
#include <string>
#include <vector>

#include "kernel_fixture.hpp"
#include "schema.hpp"

namespace iotrail::live {
namespace {

class KernelVfsNames : public KernelFileTest {
protected:
  // All events of the layer, and the calls that lead to them.
  static const std::vector<std::string>& events_recorded() {
    static const std::vector<std::string> events = [] {
      std::vector<std::string> names;
      for (const schema::Event& event : schema::kEvents) {
        const std::string call = "syscall_" + std::string(event.name.substr(4));
        if (event.layer != schema::Layer::vfs)
          continue;
        names.emplace_back(event.name);
        if (schema::find_event(call) != nullptr)
          names.push_back(call);
      }
      for (const char* const call : {"syscall_close", "syscall_dup", "syscall_close_range"})
        names.emplace_back(call);
      return names;
    }();
    return events;
  }

  // Records `vfs_x` and the calls that lead to it.
  void record_with(const std::string& event, const std::function<int()>& body) {
    event_ = event;
    recording_ = Recording::among_others({.events = events_recorded()}, body);
    if (!recording_.refusal().empty())
      return;
    check_child_and_account();
    EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_hook_bypassed), 0U);
  }

  // The records of the event, with headers checked, each within a call of its own.
  std::vector<Row> rows() const {
    const std::vector<Row>& rows = recording_.rows(event_);
    const std::vector<Row>& calls = recording_.rows("syscall_" + event_.substr(4));
    EXPECT_EQ(rows.size(), calls.size());
    for (std::size_t i = 0; i < std::min(rows.size(), calls.size()); ++i) {
      EXPECT_EQ(rows[i].u("op_id"), calls[i].u("op_id"));
      EXPECT_GE(rows[i].u("ts_ns"), calls[i].u("ts_ns"));
      EXPECT_LE(rows[i].u("ts_ns") + rows[i].u("duration_ns"),
                calls[i].u("ts_ns") + calls[i].u("duration_ns"));
      check_span(rows[i]);
    }
    return rows;
  }

  std::string name(const Row& row, const char* column = "name") const {
    return recording_.string(row.u(column));
  }
  std::string path(const Row& row, const char* column = "file") const {
    return recording_.path(row.u(column));
  }
  static std::uint64_t call(std::string_view function) {
    for (const schema::Value& value : schema::kValues)
      if (value.table == "vfs_call" && value.name == function)
        return value.number;
    return 0;
  }

  std::string event_;
};

#define RECORD_VFS(event, ...)                                                                     \
  do {                                                                                             \
    record_with(event, __VA_ARGS__);                                                               \
    SKIP_UNLESS_SERVED(recording_, event);                                                         \
  } while (false)

} // namespace

TEST_F(KernelVfsNames, vfs_unlink_and_rmdir) {
  const std::filesystem::path folder = directory_ / "folder";
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  RECORD_VFS("vfs_unlink",
             [&] { return ::rmdir(folder.c_str()) == 0 && ::unlink(file_.c_str()) == 0 ? 0 : 1; });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].u("call"), call("vfs_rmdir"));
  EXPECT_EQ(name(all[0]), "folder");
  EXPECT_EQ(path(all[0]), folder);
  EXPECT_EQ(all[1].u("call"), call("vfs_unlink"));
  EXPECT_EQ(name(all[1]), "file");
  EXPECT_EQ(path(all[1]), file_);
  for (const Row& row : all) {
    EXPECT_EQ(path(row, "directory"), directory_);
    EXPECT_EQ(row.s("result"), 0);
  }
}

TEST_F(KernelVfsNames, vfs_unlink_of_a_directory_that_is_not_empty) {
  RECORD_VFS("vfs_unlink", [&] { return ::rmdir(directory_.c_str()) == -1 ? 0 : 1; });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].s("result"), -ENOTEMPTY);
  EXPECT_EQ(path(all[0]), directory_);
}

TEST_F(KernelVfsNames, vfs_rename_onto_another_file) {
  const std::filesystem::path folder = directory_ / "folder";
  const std::filesystem::path target = folder / "target";
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  ::close(::open(target.c_str(), O_CREAT | O_WRONLY, 0600));
  RECORD_VFS("vfs_rename", [&] { return ::rename(file_.c_str(), target.c_str()); });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 1U);
  const Row& row = all.front();
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_EQ(name(row), "file");
  EXPECT_EQ(path(row, "directory"), directory_);
  EXPECT_EQ(name(row, "new_name"), "target");
  EXPECT_EQ(path(row, "new_directory"), folder);
  EXPECT_NE(row.u("replaced"), 0U);
  EXPECT_NE(row.u("replaced"), row.u("file"));
  EXPECT_EQ(row.u("flags"), 0U);
}

TEST_F(KernelVfsNames, vfs_rename_that_must_not_replace) {
  const std::filesystem::path target = directory_ / "target";
  RECORD_VFS("vfs_rename", [&] {
    return ::renameat2(AT_FDCWD, file_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE);
  });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].u("flags"), std::uint64_t{RENAME_NOREPLACE});
  EXPECT_EQ(all[0].u("replaced"), 0U);
}

TEST_F(KernelVfsNames, vfs_mkdir_and_mknod) {
  const std::filesystem::path folder = directory_ / "folder";
  const std::filesystem::path pipe = directory_ / "pipe";
  const std::filesystem::path plain = directory_ / "plain";
  RECORD_VFS("vfs_mkdir", [&] {
    ::umask(0022);
    return ::mkdir(folder.c_str(), 0777) == 0 && ::mknod(pipe.c_str(), S_IFIFO | 0666, 0) == 0 &&
                   ::mknod(plain.c_str(), S_IFREG | 0666, 0) == 0 &&
                   ::mkdir(folder.c_str(), 0777) == -1
               ? 0
               : 1;
  });
  const std::vector<Row>& all = recording_.rows("vfs_mkdir");
  ASSERT_EQ(all.size(), 3U); // the last call found the name taken and failed earlier
  const char* const functions[] = {"vfs_mkdir", "vfs_mknod", "vfs_create"};
  const std::filesystem::path made[] = {folder, pipe, plain};
  const std::uint64_t modes[] = {0777, S_IFIFO | 0666, S_IFREG | 0666};
  for (std::size_t i = 0; i < all.size(); ++i) {
    check_span(all[i]);
    EXPECT_EQ(all[i].u("call"), call(functions[i]));
    EXPECT_EQ(all[i].s("result"), 0);
    EXPECT_EQ(path(all[i]), made[i]);
    EXPECT_EQ(path(all[i], "directory"), directory_);
    EXPECT_EQ(name(all[i]), made[i].filename());
    EXPECT_EQ(all[i].u("mode"), modes[i]) << functions[i];
  }
}

TEST_F(KernelVfsNames, vfs_link_and_symlink) {
  const std::filesystem::path hard = directory_ / "hard";
  const std::filesystem::path soft = directory_ / "soft";
  RECORD_VFS("vfs_link", [&] {
    return ::link(file_.c_str(), hard.c_str()) == 0 && ::symlink("to/nowhere", soft.c_str()) == 0
               ? 0
               : 1;
  });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].u("call"), call("vfs_link"));
  EXPECT_EQ(path(all[0]), file_);
  EXPECT_EQ(name(all[0]), "hard");
  EXPECT_EQ(all[0].u("target"), 0U);
  EXPECT_EQ(all[1].u("call"), call("vfs_symlink"));
  EXPECT_EQ(path(all[1]), soft);
  EXPECT_EQ(name(all[1]), "soft");
  EXPECT_EQ(name(all[1], "target"), "to/nowhere");
  for (const Row& row : all) {
    EXPECT_EQ(path(row, "directory"), directory_);
    EXPECT_EQ(row.s("result"), 0);
  }
}

TEST_F(KernelVfsNames, vfs_stat_by_path_and_by_descriptor) {
  RECORD_VFS("vfs_stat", [&] {
    struct stat status{};
    const int fd = ::open(file_.c_str(), O_RDONLY);
    return ::stat(file_.c_str(), &status) == 0 && ::fstat(fd, &status) == 0 ? 0 : 1;
  });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 2U);
  for (const Row& row : all) {
    EXPECT_EQ(path(row), file_);
    EXPECT_EQ(row.s("result"), 0);
    EXPECT_EQ(row.u("flags") & (AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC), 0U);
  }
}

TEST_F(KernelVfsNames, vfs_statfs) {
  RECORD_VFS("vfs_statfs", [&] {
    struct statfs space{};
    return ::statfs(file_.c_str(), &space);
  });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(path(all[0]), file_);
  EXPECT_EQ(all[0].s("result"), 0);
}

TEST_F(KernelVfsNames, vfs_setattr_of_a_mode) {
  RECORD_VFS("vfs_setattr", [&] { return ::chmod(file_.c_str(), 0640); });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 1U);
  const Row& row = all.front();
  EXPECT_EQ(path(row), file_);
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_EQ(row.u("attributes") & 1U, 1U); // ATTR_MODE
  EXPECT_EQ(row.u("mode") & 07777U, 0640U);
  EXPECT_EQ(row.s("size"), -1);
}

TEST_F(KernelVfsNames, vfs_setattr_inside_a_truncation) {
  RECORD_VFS("vfs_setattr", [&] { return ::truncate(file_.c_str(), 1234); });
  const std::vector<Row>& all = recording_.rows("vfs_setattr");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].s("size"), 1234);
  EXPECT_EQ(all[0].u("mode"), 0U);
}

TEST_F(KernelVfsNames, vfs_truncate_and_fallocate) {
  RECORD_VFS("vfs_truncate", [&] {
    const int fd = ::open(file_.c_str(), O_RDWR);
    return ::ftruncate(fd, 100) == 0 && ::truncate(file_.c_str(), 8192) == 0 &&
                   ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 4096, 12288) == 0
               ? 0
               : 1;
  });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 3U);
  for (const Row& row : all) {
    EXPECT_EQ(path(row), file_);
    EXPECT_EQ(row.s("result"), 0);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(all[i].u("call"), call("do_truncate"));
    EXPECT_EQ(all[i].s("offset"), -1);
    EXPECT_EQ(all[i].u("bytes"), i == 0 ? 100U : 8192U);
    EXPECT_EQ(all[i].u("mode"), 0U);
  }
  EXPECT_EQ(all[2].u("call"), call("vfs_fallocate"));
  EXPECT_EQ(all[2].s("offset"), 4096);
  EXPECT_EQ(all[2].u("bytes"), 12288U);
  EXPECT_EQ(all[2].u("mode"), std::uint64_t{FALLOC_FL_KEEP_SIZE});
}

TEST_F(KernelVfsNames, vfs_xattr_of_each_kind) {
  if (::setxattr(file_.c_str(), "user.try", "", 0, 0) != 0)
    GTEST_SKIP() << "the file system keeps no such attributes";
  RECORD_VFS("vfs_xattr", [&] {
    char value[64];
    return ::setxattr(file_.c_str(), "user.name", "value", 5, 0) == 0 &&
                   ::getxattr(file_.c_str(), "user.name", value, sizeof value) == 5 &&
                   ::listxattr(file_.c_str(), value, sizeof value) > 0 &&
                   ::removexattr(file_.c_str(), "user.name") == 0 &&
                   ::getxattr(file_.c_str(), "user.name", value, sizeof value) == -1
               ? 0
               : 1;
  });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 5U);
  const char* const functions[] = {"vfs_setxattr", "vfs_getxattr", "vfs_listxattr",
                                   "vfs_removexattr", "vfs_getxattr"};
  const std::uint64_t bytes[] = {5, 64, 64, 0, 64};
  const std::int64_t results[] = {0, 5, 19, 0, -ENODATA}; // "user.try\0user.name\0"
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].u("call"), call(functions[i]));
    EXPECT_EQ(path(all[i]), file_);
    EXPECT_EQ(name(all[i]), i == 2 ? "" : "user.name") << functions[i];
    EXPECT_EQ(all[i].u("bytes_requested"), bytes[i]);
    EXPECT_EQ(all[i].s("result"), results[i]) << functions[i];
  }
}

TEST_F(KernelVfsNames, vfs_readdir_to_the_end) {
  RECORD_VFS("vfs_readdir", [&] {
    DIR* directory = ::opendir(directory_.c_str());
    int entries = 0;
    while (::readdir(directory) != nullptr)
      ++entries;
    return entries == 3 ? 0 : 1;
  });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].s("offset"), 0);
  EXPECT_NE(all[1].s("offset"), 0);
  for (const Row& row : all) {
    EXPECT_EQ(path(row), directory_);
    EXPECT_EQ(row.s("result"), 0);
  }
}

TEST_F(KernelVfsNames, vfs_copy_of_a_range) {
  const std::filesystem::path copy = directory_ / "copy";
  RECORD_VFS("vfs_copy", [&] {
    const int from = ::open(file_.c_str(), O_RDONLY);
    const int to = ::open(copy.c_str(), O_CREAT | O_WRONLY, 0600);
    off64_t at = 4096;
    off64_t to_at = 8192;
    return ::copy_file_range(from, &at, to, &to_at, 5000, 0) == 5000 ? 0 : 1;
  });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 1U);
  const Row& row = all.front();
  EXPECT_EQ(row.u("call"), call("vfs_copy_file_range"));
  EXPECT_EQ(path(row, "in_file"), file_);
  EXPECT_EQ(path(row, "out_file"), copy);
  EXPECT_EQ(row.s("in_offset"), 4096);
  EXPECT_EQ(row.s("out_offset"), 8192);
  EXPECT_EQ(row.u("bytes_requested"), 5000U);
  EXPECT_EQ(row.s("result"), 5000);
}

TEST_F(KernelVfsNames, vfs_readlink_of_a_link) {
  const std::filesystem::path link = directory_ / "link";
  ASSERT_EQ(::symlink("some/where", link.c_str()), 0);
  RECORD_VFS("vfs_readlink", [&] {
    char text[100];
    return ::readlink(link.c_str(), text, sizeof text) == 10 &&
                   ::readlinkat(AT_FDCWD, link.c_str(), text, 4) == 4
               ? 0
               : 1;
  });
  const std::vector<Row> all = rows();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].u("bytes_requested"), 100U);
  EXPECT_EQ(all[0].s("result"), 10);
  EXPECT_EQ(all[1].u("bytes_requested"), 4U);
  EXPECT_EQ(all[1].s("result"), 4);
  for (const Row& row : all)
    EXPECT_EQ(path(row), link);
}

// The path to a file has several components, but only the file itself is checked.
TEST_F(KernelVfsNames, vfs_access_of_a_file_and_a_directory) {
  RECORD_VFS("vfs_access", [&] {
    return ::access(file_.c_str(), F_OK) == 0 && ::access(file_.c_str(), X_OK) == -1 &&
                   ::faccessat(AT_FDCWD, directory_.c_str(), R_OK | W_OK | X_OK, 0) == 0 &&
                   ::syscall(SYS_faccessat2, AT_FDCWD, file_.c_str(), R_OK, AT_EACCESS) == 0
               ? 0
               : 1;
  });
  const std::vector<Row> all = rows();
  const std::int64_t results[] = {0, -EACCES, 0, 0};
  const int modes[] = {F_OK, X_OK, R_OK | W_OK | X_OK, R_OK};
  ASSERT_EQ(all.size(), std::size(results));
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].s("result"), results[i]);
    EXPECT_EQ(all[i].u("mode"), static_cast<std::uint64_t>(modes[i]));
    EXPECT_EQ(path(all[i]), i == 2 ? directory_ : file_);
  }
}

// Three ways close a descriptor: close, a call that reuses its number, and a call that closes many.
TEST_F(KernelVfsNames, vfs_flush_of_descriptors) {
  constexpr int kFirst = 100;
  recording_ = Recording::among_others({.events = events_recorded()}, [&] {
    const int fd = ::open(file_.c_str(), O_RDONLY);
    const int other = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY);
    return ::dup2(fd, kFirst) == kFirst && ::dup2(other, kFirst) == kFirst &&
                   ::dup2(fd, kFirst + 1) == kFirst + 1 &&
                   ::syscall(SYS_close_range, kFirst, kFirst + 1, 0) == 0 && ::close(fd) == 0 &&
                   ::close(1000) == -1
               ? 0
               : 1;
  });
  SKIP_UNLESS_SERVED(recording_, "vfs_flush");
  check_child_and_account();
  EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_hook_bypassed), 0U);
  std::vector<std::string> closed;
  std::vector<std::string> within;
  for (const Row& row : recording_.rows("vfs_flush"))
    for (const char* const call : {"syscall_close", "syscall_dup", "syscall_close_range"})
      if (!recording_.rows(call, "op_id", row.u("op_id")).empty() &&
          path(row).starts_with(directory_.string())) {
        closed.push_back(path(row));
        within.emplace_back(call);
        EXPECT_EQ(row.s("result"), 0);
        EXPECT_EQ(row.u("has_work"), 0U);
        check_span(row);
      }
  EXPECT_EQ(closed, (std::vector<std::string>{file_, directory_, file_, file_}));
  EXPECT_EQ(within, (std::vector<std::string>{"syscall_dup", "syscall_close_range",
                                              "syscall_close_range", "syscall_close"}));
}

TEST_F(KernelVfsNames, vfs_flush_in_a_file_system_that_does_something_then) {
  for (const char* const name : {"lower", "upper", "work", "mounted"})
    std::filesystem::create_directory(directory_ / name);
  const std::string folder = directory_.string();
  const std::string mounted = folder + "/mounted/file";
  recording_ = Recording::among_others({.events = events_recorded()}, [&] {
    const std::string layers =
        "lowerdir=" + folder + "/lower,upperdir=" + folder + "/upper,workdir=" + folder + "/work";
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("layers", (folder + "/mounted").c_str(), "overlay", 0, layers.c_str()) != 0)
      return 77;
    return ::close(::open(mounted.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  });
  SKIP_UNLESS_SERVED(recording_, "vfs_flush");
  if (recording_.status() == 77)
    GTEST_SKIP() << "this machine mounts no overlay here";
  std::vector<std::uint64_t> works;
  for (const Row& row : recording_.rows("vfs_flush"))
    if (path(row) == mounted)
      works.push_back(row.u("has_work"));
  EXPECT_EQ(works, std::vector<std::uint64_t>{1});
}

} // namespace iotrail::live
