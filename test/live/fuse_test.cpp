// SPDX-License-Identifier: BSD-3-Clause
//
// The fuse source: its events (fuse_read, fuse_write, fuse_copy, fuse_setattr, fuse_request), its lines, its ends. A plain
// file is the model of one on the mount: random operations have the same outcomes on both.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <vector>

#include "mounted_directory.hpp"

namespace iotrail::capture::fuse {
namespace {

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "= 5" or "ENOENT".
std::string outcome(long result) {
  return result < 0 ? strerrorname_np(errno) : fmt::format("= {}", result);
}

// Random reads, writes, truncations, allocations and mappings of one file, each also on the model.
class FileExerciser {
public:
  FileExerciser(const fs::path& file, const fs::path& model, unsigned seed) : random_(seed) {
    for (const fs::path& path : {file, model})
      fds_.emplace_back(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }

  // Empty: no difference.
  std::string step() {
    const off_t offset = pick(kSizeMost);
    const std::size_t size = static_cast<std::size_t>(pick(20'000)) + 1;
    const unsigned kind = static_cast<unsigned>(pick(10));
    std::string seen[2];
    for (int i = 0; i < 2; ++i)
      seen[i] = run(fds_[static_cast<std::size_t>(i)].get(), kind, offset, size);
    return seen[0] == seen[1] ? "" : fmt::format("kind {} at {} of {}", kind, offset, size);
  }
  static constexpr off_t kSizeMost = 200'000;

private:
  off_t pick(off_t below) { return std::uniform_int_distribution<off_t>(0, below - 1)(random_); }
  std::string bytes(off_t offset, std::size_t size) {
    std::string text(size, ' ');
    for (std::size_t i = 0; i < size; ++i)
      text[i] = static_cast<char>('a' + (static_cast<std::size_t>(offset) + i * 7 + size) % 26);
    return text;
  }
  std::string run(int fd, unsigned kind, off_t offset, std::size_t size) {
    switch (kind) {
    case 0:
    case 1:
    case 2: {
      const std::string text = bytes(offset, size);
      return outcome(::pwrite(fd, text.data(), size, offset));
    }
    case 3:
      return outcome(::ftruncate(fd, offset));
    case 4:
      return outcome(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                                 static_cast<off_t>(size)));
    case 5:
      return map(fd, offset / 4096 * 4096, size);
    case 6: {
      off_t from = offset / 2;
      off_t to = offset / 2 + 100'000;
      return outcome(::copy_file_range(fd, &from, fd, &to, size, 0));
    }
    case 7: {
      struct stat found{};
      ::fstat(fd, &found);
      return fmt::format("{} {}", found.st_size, ::fdatasync(fd));
    }
    default: {
      std::string text(size, '\0');
      const ssize_t got = ::pread(fd, text.data(), size, offset);
      return outcome(got) + text;
    }
    }
  }
  std::string map(int fd, off_t offset, std::size_t size) {
    struct stat found{};
    ::fstat(fd, &found);
    if (found.st_size < offset + static_cast<off_t>(size))
      return "beyond";
    char* const at =
        static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset));
    if (at == MAP_FAILED)
      return outcome(-1);
    const std::string before(at, size);
    at[size / 2] = 'M';
    const int synced = ::msync(at, size, MS_SYNC);
    ::munmap(at, size);
    return before + outcome(synced);
  }

  std::mt19937 random_;
  std::vector<Fd> fds_;
};

unsigned number_from(const char* variable, unsigned usual) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? usual : static_cast<unsigned>(std::atoi(text));
}

// The long stage sets 8 threads and 100,000 operations each.
TEST_F(Mounted, random_operations_have_the_outcomes_of_plain_files) {
  begin();
  const unsigned operations = number_from("IOTRAIL_FUSE_OPERATIONS", 500);
  const unsigned threads = number_from("IOTRAIL_FUSE_THREADS", 4);
  std::vector<std::thread> running;
  std::vector<std::string> differences(threads);
  for (unsigned number = 0; number < threads; ++number)
    running.emplace_back([&, number] {
      const std::string name = fmt::format("file{}", number);
      FileExerciser file(point(name), model(name), number + 1);
      for (unsigned i = 0; i < operations && differences[number].empty(); ++i)
        if (const std::string what = file.step(); !what.empty())
          differences[number] = fmt::format("operation {}: {}", i, what);
    });
  for (std::thread& thread : running)
    thread.join();
  for (unsigned number = 0; number < threads; ++number) {
    const std::string name = fmt::format("file{}", number);
    EXPECT_EQ(differences[number], "") << name;
    EXPECT_EQ(text_of(point(name)), text_of(model(name))) << name;
  }
}

// The number of rows of an event, after the mount has ended.
std::uint64_t rows_of(const Recorder& recorder, const char* event) {
  const auto found = recorder.manifest().counts.find(event);
  return found == recorder.manifest().counts.end() ? 0 : found->second;
}

// The kernel caches nothing: each call is a request.
class Counted : public Mounted {
protected:
  void SetUp() override {
    Mounted::SetUp();
    if (IsSkipped())
      return;
    begin();
    file_ = Fd(::open(point("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    char bytes[4096]{};
    for (int i = 0; i < 100; ++i)
      ASSERT_EQ(::pwrite(file_.get(), bytes, sizeof(bytes), i * 4096L), 4096);
  }
  void end() {
    file_.reset();
    const Result<void> finished = finish();
    ASSERT_TRUE(finished) << finished.error().message();
    EXPECT_EQ(recorder_->manifest().lost(), 0U);
    EXPECT_TRUE(fs::is_empty(options_.point));
  }
  Fd file_;
};

TEST_F(Counted, fuse_write_is_one_a_call) {
  end();
  EXPECT_EQ(rows_of(*recorder_, "fuse_write"), 100U);
}

TEST_F(Counted, fuse_read_is_one_a_call) {
  char bytes[4096];
  for (int i = 0; i < 2048; ++i)
    ASSERT_EQ(::pread(file_.get(), bytes, sizeof(bytes), i % 100 * 4096L), 4096);
  end();
  EXPECT_EQ(rows_of(*recorder_, "fuse_read"), 2048U);
}

TEST_F(Counted, fuse_setattr_is_a_change_of_mode_or_length) {
  ::fchmod(file_.get(), 0640);
  ::ftruncate(file_.get(), 10);
  end();
  EXPECT_EQ(rows_of(*recorder_, "fuse_setattr"), 2U);
}

TEST_F(Counted, fuse_copy_is_a_copy_file_range) {
  {
    const Fd copy(::open(point("copy").c_str(), O_WRONLY | O_CREAT, 0600));
    ASSERT_EQ(::copy_file_range(file_.get(), nullptr, copy.get(), nullptr, 5000, 0), 5000);
  }
  end();
  EXPECT_EQ(rows_of(*recorder_, "fuse_copy"), 1U);
}

TEST_F(Counted, fuse_request_is_any_other_request) {
  end();
  EXPECT_GE(rows_of(*recorder_, "fuse_request"), 4U); // LOOKUP, CREATE, FLUSH, RELEASE
}

TEST_F(Mounted, lines_are_those_of_io_trace_collector) {
  options_.text = base_ / "calls.trace";
  begin();
  fs::create_directory(point("hello"));
  std::ofstream(point("hello/world.txt")) << "Hello, world\n";
  ::truncate(point("hello/world.txt").c_str(), 5);
  fs::rename(point("hello/world.txt"), point("w"));
  fs::create_hard_link(point("w"), point("v"));
  fs::create_symlink("w", point("s"));
  ::rmdir(point("hello").c_str());
  ASSERT_TRUE(finish());
  std::istringstream lines(text_of(options_.text));
  std::vector<std::string> kinds;
  for (std::string line; std::getline(lines, line);)
    kinds.push_back(line.substr(22)); // without the time, which has 22 characters
  for (const char* expected :
       {":    MKDIR: path=/hello; mode=493",
        ":    WRITE: path=/hello/world.txt; offset=0; length_buf=13",
        ":    TRUNC: path=/hello/world.txt; length=5", ":   RENAME: old=/hello/world.txt; new=/w",
        ":     LINK: target=/v; name=/w", ":  SYMLINK: name=/s; target=w",
        ":    RMDIR: path=/hello", ":  RELEASE: path=/hello/world.txt"})
    EXPECT_EQ(std::ranges::count(kinds, expected), 1) << expected;
}

TEST_F(Mounted, files_that_are_open_at_the_end_fail_and_do_not_hang) {
  begin();
  const Fd fd(::open(point("file").c_str(), O_RDWR | O_CREAT, 0600));
  const Result<void> finished = finish();
  ASSERT_FALSE(finished);
  EXPECT_NE(finished.error().why.find("ENOTCONN"), std::string::npos);
  recorder_.reset(); // closes the connection
  char byte = 0;
  EXPECT_LT(::pread(fd.get(), &byte, 1, 0), 0);
  EXPECT_TRUE(fs::is_empty(options_.point));
}

TEST_F(Mounted, what_cannot_be_mounted_is_refused) {
  const auto why = [&](const fs::path& backend, const fs::path& at) {
    MountOptions options;
    options.backend = backend;
    options.point = at;
    const Result<void> checked = check_mount(options);
    return checked ? std::string("mounted") : checked.error().line();
  };
  EXPECT_NE(why(base_ / "none", point()).find("ENOENT"), std::string::npos);
  EXPECT_NE(why(base_ / "backend", base_ / "none").find("ENOENT"), std::string::npos);
  EXPECT_NE(why(base_, point()).find("it is inside the backend"), std::string::npos);
  EXPECT_NE(why(base_ / "backend", base_ / "backend").find("the same directory"),
            std::string::npos);
  std::ofstream(model("file")) << "x";
  EXPECT_NE(why(base_ / "backend", model()).find("not empty"), std::string::npos);
  EXPECT_NE(why(base_ / "backend", "/proc").find("is mounted there"), std::string::npos);
}

} // namespace
} // namespace iotrail::capture::fuse
