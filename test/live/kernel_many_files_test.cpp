// SPDX-License-Identifier: BSD-3-Clause
//
// More files than the kernel part knows at once: each event still has its file.
#include <fcntl.h>
#include <unistd.h>

#include <map>

#include <gtest/gtest.h>

#include "await.hpp"
#include "base/fd.hpp"
#include "base/process.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {
namespace {

constexpr std::uint32_t kFilesAtOnce = 4096;
constexpr int kFiles = 3 * kFilesAtOnce; // the first third is forgotten
constexpr int kFilesInARow = 16;

bool write_once(const std::string& path, int flags) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0600));
  return ::write(file.get(), "x", 1) == 1;
}

pid_t threads_of_recorder() {
  return status_value(::getppid(), "Threads:");
}

// The recorder has noticed how many files there were, and its additional thread has made room for
// more.
bool await_room(pid_t usual_threads) {
  return Recording::await_recorder() &&
         await([=] { return threads_of_recorder() <= usual_threads; });
}

// Uses one file again and again, the others once.
int write_many(const std::string& folder) {
  const pid_t usual_threads = threads_of_recorder();
  for (int number = 0; number < kFiles; ++number) {
    if (!write_once(folder + "/" + std::to_string(number), O_CREAT | O_EXCL))
      return 1;
    if (number % kFilesInARow == 0 &&
        (!await_room(usual_threads) || !write_once(folder + "/again", O_CREAT | O_APPEND)))
      return 1;
  }
  return write_once(folder + "/0", O_APPEND) ? 0 : 1; // forgotten long ago
}

TEST(KernelManyFiles, each_has_its_name) {
  const ScratchDirectory scratch;
  const std::string folder = scratch.path();
  const Recording recording = Recording::of(
      [](capture::SourceOptions& options, pid_t pid) {
        options.filter.layers = {schema::Layer::syscall};
        options.filter.tree_root = pid;
        options.files_at_once = kFilesAtOnce;
      },
      [&] { return write_many(folder); });
  SKIP_UNLESS_SERVED(recording, "syscall_write");
  EXPECT_EQ(recording.status(), 0);
  EXPECT_EQ(recording.lost(), 0U);
  EXPECT_EQ(recording.counter(IOT_COUNTER_kernel_file_unknown), 0U);
  EXPECT_GE(recording.counter(IOT_COUNTER_kernel_file_forgotten), kFilesAtOnce / 2);

  std::map<std::string, int> writes;
  for (const Row& row : recording.rows("syscall_write"))
    ++writes[recording.path(row.u("file"))];
  EXPECT_EQ(writes.size(), kFiles + 1U);
  EXPECT_EQ(writes[folder + "/again"], kFiles / kFilesInARow);
  EXPECT_EQ(writes[folder + "/0"], 2);
  std::map<std::string, int> rows;
  for (const Row& row : recording.rows("files"))
    ++rows[recording.path(row.u("file"))];
  EXPECT_EQ(rows[folder + "/0"], 1) << "a file that is known again is the same file";
  EXPECT_EQ(rows[folder + "/again"], 1);
}

} // namespace
} // namespace iotrail::live
