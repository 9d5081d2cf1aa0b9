// SPDX-License-Identifier: BSD-3-Clause
//
// One test an event of the layer syscall: exactly one known call in a child, every field of its record.
// Both this header and the schema have a struct io_event.
#define io_event kernel_io_event
#include <linux/aio_abi.h>
#undef io_event

#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/clock.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {
namespace {

class KernelSyscall : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "kernel-syscall-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    file_ = directory_ / "file";
    const int fd = ::open(file_.c_str(), O_CREAT | O_WRONLY, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::pwrite(fd, contents_, sizeof(contents_), 0),
              static_cast<ssize_t>(sizeof(contents_)));
    ::close(fd);
    before_ns_ = monotonic_ns();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // Records `body`; the test is skipped where the machine does not permit it.
  void record(const std::function<int()>& body) {
    recording_ = Recording::of({schema::Layer::syscall}, body);
    if (recording_.refusal().empty()) {
      EXPECT_EQ(recording_.status(), 0) << "the child failed";
      EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
      EXPECT_EQ(recording_.lost(), 0U);
    }
  }

  // The only record of `table` with this call; checks what all records have.
  Row one(const std::string& table, std::uint32_t call) {
    const std::vector<Row> rows = recording_.rows(table, "call", call);
    EXPECT_EQ(rows.size(), 1U) << table;
    if (rows.size() != 1)
      return {};
    check_header(rows.front());
    return rows.front();
  }

  void check_header(const Row& row) {
    const auto pid = static_cast<std::uint64_t>(recording_.pid());
    EXPECT_EQ(row.u("pid"), pid);
    EXPECT_EQ(row.u("tid"), pid);
    EXPECT_GT(row.u("ts_ns"), before_ns_);
    EXPECT_LT(row.u("ts_ns") + row.u("duration_ns"), monotonic_ns());
    EXPECT_GT(row.u("duration_ns"), 0U);
    EXPECT_NE(row.u("op_id"), 0U);
    EXPECT_LT(row.u("cpu"), static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  }

  std::string path_of(const Row& row, std::string_view column = "file") {
    return recording_.path(row.u(column));
  }
  std::string text_of(const Row& row, std::string_view column = "path") {
    return recording_.string(row.u(column));
  }

  std::filesystem::path directory_;
  std::filesystem::path file_;
  char contents_[10000] = {1, 2, 3};
  std::uint64_t before_ns_ = 0;
  Recording recording_;
};

#define RECORD(...)                                                                                \
  do {                                                                                             \
    record(__VA_ARGS__);                                                                           \
    if (!recording_.refusal().empty())                                                             \
      GTEST_SKIP() << recording_.refusal();                                                        \
  } while (false)

constexpr std::uint64_t u(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

TEST_F(KernelSyscall, syscall_open) {
  const std::string made = directory_ / "made";
  const std::string missing = directory_ / "missing";
  RECORD([&] {
    const int fd = ::openat(AT_FDCWD, made.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0640);
    ::close(fd);
    return ::open(missing.c_str(), O_RDONLY) < 0 && fd >= 0 ? 0 : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_open", "call", IO_syscall_openat);
  ASSERT_EQ(rows.size(), 2U);
  check_header(rows[0]);
  EXPECT_GE(rows[0].s("result"), 0);
  EXPECT_EQ(path_of(rows[0]), made);
  EXPECT_EQ(text_of(rows[0]), made);
  EXPECT_EQ(rows[0].s("fd"), AT_FDCWD);
  EXPECT_EQ(rows[0].u("flags") & (O_CREAT | O_RDWR | O_CLOEXEC), O_CREAT | O_RDWR | O_CLOEXEC);
  EXPECT_EQ(rows[0].u("mode"), 0640U);
  EXPECT_EQ(rows[1].s("result"), -ENOENT);
  EXPECT_EQ(rows[1].u("file"), 0U);
  EXPECT_EQ(text_of(rows[1]), missing);
  EXPECT_EQ(rows[1].u("mode"), 0U);
}

TEST_F(KernelSyscall, syscall_open_of_a_long_path) {
  const std::string long_path = directory_.string() + std::string(1000, '/') + "file";
  RECORD([&] { return ::open(long_path.c_str(), O_RDONLY) >= 0 ? 0 : 1; });
  const Row row = one("syscall_open", IO_syscall_openat);
  EXPECT_EQ(text_of(row), long_path);
  EXPECT_EQ(path_of(row), file_);
}

TEST_F(KernelSyscall, syscall_open_by_openat2_and_creat) {
  const std::string made = directory_ / "made";
  RECORD([&] {
    open_how how{.flags = O_CREAT | O_WRONLY, .mode = 0604, .resolve = 0};
    const long first = ::syscall(SYS_openat2, AT_FDCWD, made.c_str(), &how, sizeof(how));
    const long second = ::syscall(SYS_creat, made.c_str(), 0600);
    return first >= 0 && second >= 0 ? 0 : 1;
  });
  const Row row = one("syscall_open", IO_syscall_openat2);
  EXPECT_EQ(row.u("flags"), u(O_CREAT | O_WRONLY));
  EXPECT_EQ(row.u("mode"), 0604U);
  EXPECT_EQ(path_of(row), made);
  const Row created = one("syscall_open", IO_syscall_creat);
  EXPECT_EQ(created.u("flags"), u(O_CREAT | O_WRONLY | O_TRUNC));
  EXPECT_EQ(created.u("mode"), 0600U);
  EXPECT_EQ(created.s("fd"), AT_FDCWD);
  EXPECT_EQ(created.u("file"), row.u("file"));
}

TEST_F(KernelSyscall, syscall_close) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDONLY);
    const int good = ::close(fd);
    return good == 0 && ::close(1000) < 0 ? 0 : 1;
  });
  const Row opened = one("syscall_open", IO_syscall_openat);
  const auto of_file = recording_.rows("syscall_close", "fd", opened.u("result"));
  ASSERT_FALSE(of_file.empty());
  const Row& row = of_file.back();
  check_header(row);
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_EQ(path_of(row), file_);
  const auto bad = recording_.rows("syscall_close", "fd", 1000);
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_EQ(bad[0].s("result"), -EBADF);
  EXPECT_EQ(bad[0].u("file"), 0U);
}

TEST_F(KernelSyscall, syscall_read) {
  RECORD([&] {
    char buffer[4096];
    const int fd = ::open(file_.c_str(), O_RDONLY);
    iovec two[2] = {{buffer, 100}, {buffer + 100, 23}};
    return ::read(fd, buffer, 1000) == 1000 && ::pread(fd, buffer, 4096, 9000) == 1000 &&
                   ::preadv2(fd, two, 2, 50, RWF_HIPRI) == 123 && ::readv(fd, two, 2) == 123
               ? 0
               : 1;
  });
  const auto expect = [&](std::uint32_t call, std::int64_t offset, std::uint64_t bytes,
                          std::int64_t result, std::uint32_t flags) {
    SCOPED_TRACE(schema::value_name("syscall", call));
    const Row row = [&] {
      for (const Row& candidate : recording_.rows("syscall_read", "call", call))
        if (path_of(candidate) == file_)
          return candidate;
      return Row{};
    }();
    ASSERT_FALSE(row.numbers.empty());
    check_header(row);
    EXPECT_EQ(row.s("offset"), offset);
    EXPECT_EQ(row.u("bytes_requested"), bytes);
    EXPECT_EQ(row.s("result"), result);
    EXPECT_EQ(row.u("flags"), flags);
    EXPECT_EQ(row.u("fd"), one("syscall_open", IO_syscall_openat).u("result"));
  };
  expect(IO_syscall_read, 0, 1000, 1000, 0);
  expect(IO_syscall_pread64, 9000, 4096, 1000, 0);
  expect(IO_syscall_preadv2, 50, 123, 123, RWF_HIPRI);
  expect(IO_syscall_readv, 1000, 123, 123, 0);
}

TEST_F(KernelSyscall, syscall_read_of_a_pipe_has_no_offset) {
  RECORD([&] {
    int ends[2];
    char byte = 0;
    return ::pipe(ends) == 0 && ::write(ends[1], "x", 1) == 1 && ::read(ends[0], &byte, 1) == 1 &&
                   ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && ::read(ends[0], &byte, 1) < 0
               ? 0
               : 1;
  });
  const Row written = one("syscall_write", IO_syscall_write);
  EXPECT_EQ(written.s("offset"), -1);
  EXPECT_TRUE(path_of(written).starts_with("pipe:["));
  const std::vector<Row> reads = recording_.rows("syscall_read", "file", written.u("file"));
  ASSERT_EQ(reads.size(), 2U);
  EXPECT_EQ(reads[0].s("result"), 1);
  EXPECT_EQ(reads[0].s("offset"), -1);
  EXPECT_EQ(reads[1].s("result"), -EAGAIN);
}

TEST_F(KernelSyscall, syscall_write) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_WRONLY);
    const int appending = ::open(file_.c_str(), O_WRONLY | O_APPEND);
    iovec two[2] = {{contents_, 7}, {contents_, 8}};
    return ::write(fd, contents_, 5) == 5 && ::write(fd, contents_, 6) == 6 &&
                   ::pwritev(fd, two, 2, 4000) == 15 && ::write(appending, contents_, 9) == 9
               ? 0
               : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_write", "call", IO_syscall_write);
  ASSERT_EQ(rows.size(), 3U);
  for (const Row& row : rows) {
    check_header(row);
    EXPECT_EQ(path_of(row), file_);
    EXPECT_EQ(row.u("flags"), 0U);
  }
  EXPECT_EQ(rows[0].s("offset"), 0);
  EXPECT_EQ(rows[0].u("bytes_requested"), 5U);
  EXPECT_EQ(rows[0].s("result"), 5);
  EXPECT_EQ(rows[1].s("offset"), 5);
  EXPECT_EQ(rows[1].s("result"), 6);
  EXPECT_EQ(rows[2].s("offset"), 10000) << "O_APPEND writes at the end";
  EXPECT_EQ(rows[2].s("result"), 9);
  EXPECT_NE(rows[2].u("fd"), rows[0].u("fd"));
  const Row vector = one("syscall_write", IO_syscall_pwritev);
  EXPECT_EQ(vector.s("offset"), 4000);
  EXPECT_EQ(vector.u("bytes_requested"), 15U);
  EXPECT_EQ(vector.s("result"), 15);
}

TEST_F(KernelSyscall, syscall_seek) {
  RECORD([&] { return ::lseek(::open(file_.c_str(), O_RDONLY), -50, SEEK_END) == 9950 ? 0 : 1; });
  const Row row = one("syscall_seek", IO_syscall_lseek);
  EXPECT_EQ(row.s("offset"), -50);
  EXPECT_EQ(row.s("result"), 9950);
  EXPECT_EQ(row.u("whence"), u(SEEK_END));
  EXPECT_EQ(path_of(row), file_);
  EXPECT_EQ(row.u("fd"), one("syscall_open", IO_syscall_openat).u("result"));
}

TEST_F(KernelSyscall, syscall_sync) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDWR);
    return ::fsync(fd) == 0 && ::fdatasync(fd) == 0 &&
                   ::sync_file_range(fd, 4096, 8192, SYNC_FILE_RANGE_WRITE) == 0 &&
                   ::syncfs(fd) == 0
               ? 0
               : 1;
  });
  const std::uint64_t fd = one("syscall_open", IO_syscall_openat).u("result");
  for (const std::uint32_t call : {IO_syscall_fsync, IO_syscall_fdatasync, IO_syscall_syncfs}) {
    const Row row = one("syscall_sync", call);
    EXPECT_EQ(row.s("offset"), -1);
    EXPECT_EQ(row.u("bytes"), 0U);
    EXPECT_EQ(row.s("result"), 0);
    EXPECT_EQ(path_of(row), file_);
    EXPECT_EQ(row.u("fd"), fd);
    EXPECT_EQ(row.u("flags"), 0U);
  }
  const Row range = one("syscall_sync", IO_syscall_sync_file_range);
  EXPECT_EQ(range.s("offset"), 4096);
  EXPECT_EQ(range.u("bytes"), 8192U);
  EXPECT_EQ(range.u("flags"), u(SYNC_FILE_RANGE_WRITE));
}

TEST_F(KernelSyscall, syscall_truncate) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDWR);
    return ::ftruncate(fd, 5000) == 0 && ::truncate(file_.c_str(), 6000) == 0 &&
                   ::fallocate(fd, 0, 1000, 20000) == 0
               ? 0
               : 1;
  });
  const Row by_fd = one("syscall_truncate", IO_syscall_ftruncate);
  EXPECT_EQ(by_fd.s("offset"), -1);
  EXPECT_EQ(by_fd.u("bytes"), 5000U);
  EXPECT_EQ(by_fd.s("result"), 0);
  EXPECT_EQ(path_of(by_fd), file_);
  EXPECT_EQ(by_fd.u("path"), 0U);
  const Row by_path = one("syscall_truncate", IO_syscall_truncate);
  EXPECT_EQ(by_path.u("bytes"), 6000U);
  EXPECT_EQ(text_of(by_path), file_);
  EXPECT_EQ(by_path.u("file"), 0U);
  EXPECT_EQ(by_path.s("fd"), -1);
  const Row reserved = one("syscall_truncate", IO_syscall_fallocate);
  EXPECT_EQ(reserved.s("offset"), 1000);
  EXPECT_EQ(reserved.u("bytes"), 20000U);
  EXPECT_EQ(reserved.u("fd"), by_fd.u("fd"));
}

TEST_F(KernelSyscall, syscall_unlink) {
  const std::string sub = directory_ / "sub";
  RECORD([&] {
    return ::mkdir(sub.c_str(), 0700) == 0 &&
                   ::unlinkat(AT_FDCWD, sub.c_str(), AT_REMOVEDIR) == 0 &&
                   ::unlink(file_.c_str()) == 0 && ::rmdir(sub.c_str()) < 0
               ? 0
               : 1;
  });
  const Row at = one("syscall_unlink", IO_syscall_unlinkat);
  EXPECT_EQ(text_of(at), sub);
  EXPECT_EQ(at.u("flags"), u(AT_REMOVEDIR));
  EXPECT_EQ(at.s("fd"), AT_FDCWD);
  EXPECT_EQ(at.s("result"), 0);
  const Row plain = one("syscall_unlink", IO_syscall_unlink);
  EXPECT_EQ(text_of(plain), file_);
  EXPECT_EQ(plain.u("flags"), 0U);
  EXPECT_EQ(one("syscall_unlink", IO_syscall_rmdir).s("result"), -ENOENT);
}

TEST_F(KernelSyscall, syscall_rename) {
  const std::string first = directory_ / "first";
  const std::string second = directory_ / "second";
  RECORD([&] {
    const int at = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY);
    return ::rename(file_.c_str(), first.c_str()) == 0 &&
                   ::renameat2(at, "first", AT_FDCWD, second.c_str(), RENAME_NOREPLACE) == 0
               ? 0
               : 1;
  });
  const Row plain = one("syscall_rename", IO_syscall_rename);
  EXPECT_EQ(text_of(plain), file_);
  EXPECT_EQ(text_of(plain, "new_path"), first);
  EXPECT_EQ(plain.s("fd"), AT_FDCWD);
  EXPECT_EQ(plain.s("new_fd"), AT_FDCWD);
  EXPECT_EQ(plain.u("flags"), 0U);
  const Row at = one("syscall_rename", IO_syscall_renameat2);
  EXPECT_EQ(text_of(at), "first");
  EXPECT_EQ(text_of(at, "new_path"), second);
  EXPECT_EQ(at.u("fd"), one("syscall_open", IO_syscall_openat).u("result"));
  EXPECT_EQ(at.s("new_fd"), AT_FDCWD);
  EXPECT_EQ(at.u("flags"), u(RENAME_NOREPLACE));
  EXPECT_EQ(at.s("result"), 0);
}

TEST_F(KernelSyscall, syscall_mkdir) {
  const std::string made = directory_ / "made";
  RECORD([&] {
    return ::mkdir(made.c_str(), 0750) == 0 && ::mkdirat(AT_FDCWD, made.c_str(), 0700) < 0 ? 0 : 1;
  });
  const Row row = one("syscall_mkdir", IO_syscall_mkdir);
  EXPECT_EQ(text_of(row), made);
  EXPECT_EQ(row.u("mode"), 0750U);
  EXPECT_EQ(row.s("fd"), AT_FDCWD);
  EXPECT_EQ(row.s("result"), 0);
  const Row at = one("syscall_mkdir", IO_syscall_mkdirat);
  EXPECT_EQ(at.s("result"), -EEXIST);
  EXPECT_EQ(at.u("mode"), 0700U);
}

TEST_F(KernelSyscall, syscall_stat) {
  RECORD([&] {
    struct stat status{};
    struct statx extended{};
    const int fd = ::open(file_.c_str(), O_RDONLY);
    return ::syscall(SYS_fstat, fd, &status) == 0 &&
                   ::syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) == 0 &&
                   ::statx(AT_FDCWD, file_.c_str(), AT_SYMLINK_NOFOLLOW, STATX_SIZE, &extended) ==
                       0 &&
                   ::syscall(SYS_lstat, "/missing", &status) < 0
               ? 0
               : 1;
  });
  const Row by_fd = one("syscall_stat", IO_syscall_fstat);
  EXPECT_EQ(path_of(by_fd), file_);
  EXPECT_EQ(by_fd.u("path"), 0U);
  EXPECT_EQ(by_fd.u("flags"), 0U);
  const Row by_empty_path = one("syscall_stat", IO_syscall_newfstatat);
  EXPECT_EQ(by_empty_path.u("file"), by_fd.u("file"));
  EXPECT_EQ(by_empty_path.u("flags"), u(AT_EMPTY_PATH));
  EXPECT_EQ(by_empty_path.u("fd"), by_fd.u("fd"));
  const Row by_path = one("syscall_stat", IO_syscall_statx);
  EXPECT_EQ(text_of(by_path), file_);
  EXPECT_EQ(by_path.u("flags"), u(AT_SYMLINK_NOFOLLOW));
  EXPECT_EQ(by_path.s("fd"), AT_FDCWD);
  EXPECT_EQ(one("syscall_stat", IO_syscall_lstat).s("result"), -ENOENT);
}

TEST_F(KernelSyscall, syscall_mmap_munmap_msync) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDWR);
    void* mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
    void* memory = ::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* refused = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, 1000, 0);
    return mapped != MAP_FAILED && memory != MAP_FAILED && refused == MAP_FAILED &&
                   ::msync(mapped, 4096, MS_SYNC) == 0 && ::munmap(mapped, 4096) == 0
               ? 0
               : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_mmap");
  ASSERT_EQ(rows.size(), 3U);
  check_header(rows[0]);
  EXPECT_EQ(rows[0].u("bytes"), 4096U);
  EXPECT_EQ(rows[0].s("offset"), 4096);
  EXPECT_EQ(rows[0].s("result"), 0);
  EXPECT_EQ(rows[0].u("prot"), u(PROT_READ | PROT_WRITE));
  EXPECT_EQ(rows[0].u("flags"), u(MAP_SHARED));
  EXPECT_EQ(path_of(rows[0]), file_);
  EXPECT_EQ(rows[1].u("bytes"), 8192U);
  EXPECT_EQ(rows[1].u("file"), 0U);
  EXPECT_EQ(rows[1].s("fd"), -1);
  EXPECT_EQ(rows[1].s("offset"), -1);
  EXPECT_EQ(rows[2].s("result"), -EBADF);
  EXPECT_EQ(rows[2].u("address"), 0U);
  const Row synced = one("syscall_msync", IO_syscall_msync);
  EXPECT_EQ(synced.u("address"), rows[0].u("address"));
  EXPECT_EQ(synced.u("bytes"), 4096U);
  EXPECT_EQ(synced.u("flags"), u(MS_SYNC));
  const Row unmapped = one("syscall_munmap", IO_syscall_munmap);
  EXPECT_EQ(unmapped.u("address"), rows[0].u("address"));
  EXPECT_EQ(unmapped.u("bytes"), 4096U);
  EXPECT_EQ(unmapped.s("result"), 0);
}

TEST_F(KernelSyscall, syscall_copy) {
  const std::string copy = directory_ / "copy";
  RECORD([&] {
    const int in = ::open(file_.c_str(), O_RDONLY);
    const int out = ::open(copy.c_str(), O_CREAT | O_RDWR, 0600);
    int ends[2];
    if (::pipe(ends) != 0)
      return 1;
    return ::syscall(SYS_sendfile, out, in, nullptr, 600) == 600 &&
                   ::syscall(SYS_copy_file_range, in, nullptr, out, nullptr, 700, 0) == 700 &&
                   ::syscall(SYS_splice, in, nullptr, ends[1], nullptr, 800, SPLICE_F_MOVE) == 800
               ? 0
               : 1;
  });
  const Row sent = one("syscall_copy", IO_syscall_sendfile);
  EXPECT_EQ(sent.u("bytes_requested"), 600U);
  EXPECT_EQ(sent.s("result"), 600);
  EXPECT_EQ(path_of(sent, "in_file"), file_);
  EXPECT_EQ(path_of(sent, "out_file"), copy);
  EXPECT_EQ(sent.u("flags"), 0U);
  const Row copied = one("syscall_copy", IO_syscall_copy_file_range);
  EXPECT_EQ(copied.u("bytes_requested"), 700U);
  EXPECT_EQ(copied.u("in_fd"), sent.u("in_fd"));
  EXPECT_EQ(copied.u("out_fd"), sent.u("out_fd"));
  EXPECT_EQ(path_of(copied, "out_file"), copy);
  const Row spliced = one("syscall_copy", IO_syscall_splice);
  EXPECT_EQ(spliced.s("result"), 800);
  EXPECT_EQ(spliced.u("flags"), u(SPLICE_F_MOVE));
  EXPECT_TRUE(path_of(spliced, "out_file").starts_with("pipe:["));
}

TEST_F(KernelSyscall, syscall_aio) {
  RECORD([&] {
    aio_context_t context = 0;
    if (::syscall(SYS_io_setup, 8, &context) != 0)
      return 1;
    iocb request{};
    request.aio_lio_opcode = IOCB_CMD_PREAD;
    request.aio_fildes = static_cast<__u32>(::open(file_.c_str(), O_RDONLY));
    request.aio_buf = reinterpret_cast<__u64>(contents_);
    request.aio_nbytes = 512;
    iocb* list[] = {&request};
    kernel_io_event done[4];
    return ::syscall(SYS_io_submit, context, 1, list) == 1 &&
                   ::syscall(SYS_io_getevents, context, 1, 4, done, nullptr) == 1
               ? 0
               : 1;
  });
  const Row submitted = one("syscall_aio_submit", IO_syscall_io_submit);
  EXPECT_EQ(submitted.s("requested"), 1);
  EXPECT_EQ(submitted.s("result"), 1);
  EXPECT_NE(submitted.u("context"), 0U);
  const Row reaped = one("syscall_aio_getevents", IO_syscall_io_getevents);
  EXPECT_EQ(reaped.u("context"), submitted.u("context"));
  EXPECT_EQ(reaped.s("minimum"), 1);
  EXPECT_EQ(reaped.s("maximum"), 4);
  EXPECT_EQ(reaped.s("result"), 1);
}

TEST_F(KernelSyscall, syscall_uring_enter) {
  RECORD([&] {
    io_uring_params parameters{};
    const long ring = ::syscall(SYS_io_uring_setup, 4, &parameters);
    if (ring < 0)
      return errno == ENOSYS || errno == EPERM ? 77 : 1;
    return ::syscall(SYS_io_uring_enter, ring, 0, 0, IORING_ENTER_GETEVENTS, nullptr, 0) == 0 ? 0
                                                                                              : 1;
  });
  if (recording_.rows("syscall_uring_enter").empty())
    GTEST_SKIP() << "the machine refuses io_uring";
  const Row row = one("syscall_uring_enter", IO_syscall_io_uring_enter);
  EXPECT_EQ(row.u("to_submit"), 0U);
  EXPECT_EQ(row.u("min_complete"), 0U);
  EXPECT_EQ(row.u("flags"), u(IORING_ENTER_GETEVENTS));
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_GT(row.s("fd"), 2);
}

} // namespace
} // namespace iotrail::live
