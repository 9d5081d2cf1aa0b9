// SPDX-License-Identifier: BSD-3-Clause
//
// Swapped memory: to a disk and a file of the test, from a control group with too little memory.
#include <linux/fs.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "await.hpp"
#include "base/fd.hpp"
#include "kernel_recording.hpp"
#include "mounted_file_system.hpp"
#include "shared.hpp"
#include "small_group.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::uint64_t kSectorsOfPage = kPageBytes / 512;
constexpr std::uint64_t kGroupBytes = 16U << 20U;
constexpr std::size_t kPages = (32U << 20U) / kPageBytes;
constexpr std::size_t kFilledPages = kPages / 4;
constexpr std::uint64_t kAreaBytes = 48U << 20U;

// A swap area that the kernel prefers to all others: it waits until no other test of any clone has one.
class SwapArea {
public:
  explicit SwapArea(std::string path)
      : path_(std::move(path)),
        lock_(::open((std::filesystem::temp_directory_path() / "iotrail-swap-test").c_str(),
                     O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    IOTRAIL_CHECK(::flock(lock_.get(), LOCK_EX) == 0);
    if (std::system(("mkswap " + path_ + " >/dev/null 2>&1").c_str()) != 0)
      refusal_ = "mkswap is not to be had";
    else if (::swapon(path_.c_str(), SWAP_FLAG_PREFER | SWAP_FLAG_PRIO_MASK) != 0)
      refusal_ = "the machine does not swap: " + errno_text(errno);
  }
  ~SwapArea() {
    if (refusal_.empty())
      ::swapoff(path_.c_str());
  }
  SwapArea(const SwapArea&) = delete;
  SwapArea& operator=(const SwapArea&) = delete;

  const std::string& refusal() const { return refusal_; } // empty: in use

private:
  std::string path_;
  Fd lock_;
  std::string refusal_;
};

std::uint64_t number_after(const std::string& file, const std::string& name) {
  std::ifstream words(file);
  for (std::string word; words >> word;)
    if (word == name)
      return words >> word ? std::stoull(word) : 0;
  return 0;
}

using Place = std::pair<std::uint64_t, std::uint64_t>; // area, and slot in it

// Pages that the whole machine has swapped.
struct Swapped {
  std::uint64_t in;
  std::uint64_t out;

  static Swapped now() {
    return {number_after("/proc/vmstat", "pswpin"), number_after("/proc/vmstat", "pswpout")};
  }
  Swapped since(const Swapped& before) const { return {in - before.in, out - before.out}; }
};

// The child's own measurements.
struct Account {
  std::uint64_t bytes_read; // from disks
  bool is_whole;            // the memory has its contents
  std::array<std::uint64_t, kPages> pagemap;

  // Places of swapped-out pages (proc_pid_pagemap(5)).
  std::map<std::size_t, Place> places() const {
    constexpr std::uint64_t kIsSwapped = 1ULL << 62U;
    constexpr std::uint64_t kAreaMask = 31;
    constexpr std::uint64_t kSlotMask = (1ULL << 50U) - 1;
    std::map<std::size_t, Place> found;
    for (std::size_t page = 0; page < kPages; ++page)
      if ((pagemap[page] & kIsSwapped) != 0)
        found[page] = {pagemap[page] & kAreaMask, pagemap[page] >> 5U & kSlotMask};
    return found;
  }
};

// Whether a disk below /sys/block has no request.
bool is_idle(const std::filesystem::path& disk) {
  std::ifstream words(disk / "inflight");
  int reads = -1;
  int writes = -1;
  words >> reads >> writes;
  return reads == 0 && writes == 0;
}

// Fills more memory than the group may have, fills its first pages with zeros by a call, then reads
// all of it. Returns when `disk` has written all.
int use_memory(const Shared<Account>& account, const std::filesystem::path& disk) {
  void* const area = ::mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED)
    return 1;
  ::madvise(area, kPages * kPageBytes, MADV_NOHUGEPAGE);
  auto* const words = static_cast<std::uint64_t*>(area);
  constexpr std::size_t kWords = kPageBytes / sizeof(*words);
  for (std::size_t page = 0; page < kPages; ++page)
    for (std::size_t at = 0; at < kWords; ++at)
      words[page * kWords + at] = page * kWords + at;
  const Fd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  const auto place = reinterpret_cast<std::uintptr_t>(area) / kPageBytes * sizeof(std::uint64_t);
  constexpr ssize_t kMapBytes = sizeof(account->pagemap);
  if (::pread(pagemap.get(), account->pagemap.data(), kMapBytes, static_cast<off_t>(place)) !=
      kMapBytes)
    return 1;
  constexpr ssize_t kFilledBytes = kFilledPages * kPageBytes;
  const Fd zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  if (::read(zeros.get(), area, kFilledBytes) != kFilledBytes)
    return 1;
  account->is_whole = true;
  for (std::size_t page = 0; page < kPages; ++page)
    account->is_whole &= words[page * kWords] == (page < kFilledPages ? 0 : page * kWords);
  account->bytes_read = number_after("/proc/self/io", "read_bytes:");
  return await([&] { return is_idle(disk); }) ? 0 : 1;
}

class KernelSwap : public testing::Test {
protected:
  // Records the use of memory that is swapped to `area` on `disk`, which is below /sys/block. Skips
  // the test if the machine refuses.
  void record(const SwapArea& area, const std::filesystem::path& disk) {
    const SmallGroup group(kGroupBytes);
    refusal_ = area.refusal().empty() ? group.refusal() : area.refusal();
    if (!refusal_.empty())
      return;
    const Swapped before = Swapped::now();
    recording_ =
        Recording::among_others({.events = {"memory_swap_in", "memory_swap_out", "syscall_read"}},
                                [&] { return group.enter() ? use_memory(account_, disk) : 1; });
    swapped_ = Swapped::now().since(before);
    in_ = recording_.rows("memory_swap_in");
    out_ = recording_.rows("memory_swap_out");
  }

  static std::uint64_t pages_of(const std::vector<Row>& rows) {
    std::uint64_t pages = 0;
    for (const Row& row : rows)
      pages += row.u("pages");
    return pages;
  }

  std::vector<Row> of_child(std::vector<Row> rows) const {
    std::erase_if(rows, [&](const Row& row) {
      return row.u("pid") != static_cast<std::uint64_t>(recording_.pid());
    });
    return rows;
  }

  void check_counts() const {
    EXPECT_EQ(recording_.status(), 0);
    EXPECT_EQ(recording_.lost(), 0U);
    EXPECT_EQ(recording_.produced(), recording_.written());
    EXPECT_TRUE(account_->is_whole);
    const std::uint64_t bytes_in = pages_of(of_child(in_)) * kPageBytes;
    EXPECT_GE(bytes_in + kPageBytes * kPages / 256, account_->bytes_read)
        << "but for what it read of its program";
    EXPECT_LE(bytes_in, account_->bytes_read + kPageBytes * kPages / 256)
        << "what it has read since";
    if (is_emulated()) {
      EXPECT_EQ(pages_of(in_), swapped_.in);
      EXPECT_EQ(pages_of(out_), swapped_.out);
    } else { // other tasks may swap too
      EXPECT_LE(pages_of(in_), swapped_.in);
      EXPECT_LE(pages_of(out_), swapped_.out);
    }
    EXPECT_GE(pages_of(out_), kPages - kGroupBytes / kPageBytes);
  }

  void check_rows(const std::vector<Row>& rows, std::uint64_t device) const {
    std::size_t unfinished = 0;
    for (const Row& row : rows) {
      // A kernel thread may free memory of the group for its own use, as the loop device's does.
      EXPECT_TRUE(row.u("pid") == static_cast<std::uint64_t>(recording_.pid()) ||
                  row.u("op_id") == 0);
      EXPECT_EQ(row.u("device"), device);
      EXPECT_GE(row.u("pages"), 1U);
      unfinished += row.s("result") == IOT_UNFINISHED ? 1 : 0;
      EXPECT_TRUE(row.s("result") == 0 || row.s("result") == IOT_UNFINISHED);
      EXPECT_TRUE(row.u("duration_ns") > 0 || row.s("result") == IOT_UNFINISHED);
    }
    // A kernel may miss an end: docs/adr/0007.
    EXPECT_LE(unfinished, is_emulated() ? 0 : rows.size() / 50);
  }

  // Checks the place of each page against the kernel's page map, and the owner of its read.
  void check_places() const {
    const std::map<std::size_t, Place> swapped = account_->places();
    EXPECT_GE(swapped.size(), kPages / 2 - kPages / 8);
    std::set<Place> written;
    for (const Row& row : out_)
      for (std::uint64_t page = 0; page < row.u("pages"); ++page)
        written.emplace(row.u("area"), row.u("slot") + page);
    std::map<Place, const Row*> first_read;
    for (const Row& row : in_)
      first_read.emplace(Place(row.u("area"), row.u("slot")), &row);
    const std::vector<Row> fills =
        recording_.rows("syscall_read", "result", kFilledPages * kPageBytes);
    ASSERT_EQ(fills.size(), 1U);
    std::size_t of_call = 0;
    std::size_t of_none = 0;
    for (const auto& [page, place] : swapped) {
      EXPECT_TRUE(written.contains(place)) << "page " << page;
      const auto read = first_read.find(place);
      if (read == first_read.end()) // still in memory, though no longer mapped
        continue;
      const std::uint64_t op = read->second->u("op_id");
      of_call += page < kFilledPages && op == fills[0].u("op_id") ? 1 : 0;
      of_none += page >= kFilledPages && op == 0 ? 1 : 0;
    }
    // An earlier operation read the others ahead.
    EXPECT_GE(of_call, kFilledPages * 9 / 10);
    EXPECT_GE(of_call + of_none, swapped.size() * 9 / 10);
  }

  // For an area that is a whole disk.
  void check_disk(std::uint64_t device) const {
    check_counts();
    check_rows(in_, device);
    check_rows(out_, device);
    check_places();
    for (const std::vector<Row>* rows : {&in_, &out_})
      for (const Row& row : *rows)
        EXPECT_EQ(row.u("sector"), row.u("slot") * kSectorsOfPage);
  }

  std::string disk_file() const {
    const std::string file = scratch_ / "disk";
    std::ofstream{file}.close();
    std::filesystem::resize_file(file, kAreaBytes);
    return file;
  }

  ScratchDirectory scratch_;
  std::string refusal_;
  Shared<Account> account_;
  Recording recording_;
  Swapped swapped_{};
  std::vector<Row> in_;
  std::vector<Row> out_;
};

TEST_F(KernelSwap, memory_swap_out_and_in_of_each_page) {
  const LoopDevice disk(disk_file(), kPageBytes);
  if (!disk.refusal().empty())
    GTEST_SKIP() << disk.refusal();
  record(SwapArea(disk.path()), disk.sysfs());
  if (!refusal_.empty())
    GTEST_SKIP() << refusal_;
  SKIP_UNLESS_SERVED(recording_, "memory_swap_in");
  check_disk(disk.device());
}

// The bios to the disk below carry the same pages, and are no swapping of their own.
TEST_F(KernelSwap, memory_swap_out_and_in_once_by_a_mapped_disk) {
  const LoopDevice disk(disk_file(), kPageBytes);
  const std::string name = "iotrail-swap-" + std::to_string(::getpid());
  if (!disk.refusal().empty() || !has_module("dm_mod"))
    GTEST_SKIP() << "there is no device mapper";
  const std::string table =
      "'0 " + std::to_string(kAreaBytes / 512) + " linear " + disk.path() + " 0'";
  if (std::system(("dmsetup create --noudevsync " + name + " --table " + table).c_str()) != 0)
    GTEST_SKIP() << "dmsetup makes no device";
  const std::string mapped = mapped_device(name);
  const std::string in_sysfs = "/sys/block" + mapped.substr(sizeof("/dev") - 1);
  const std::uint64_t number = device_number(in_sysfs);
  record(SwapArea(mapped), in_sysfs);
  EXPECT_EQ(std::system(("dmsetup remove --retry --noudevsync " + name).c_str()), 0);
  if (!refusal_.empty())
    GTEST_SKIP() << refusal_;
  SKIP_UNLESS_SERVED(recording_, "memory_swap_in");
  check_disk(number);
}

// The kernel reads such a disk synchronously, into a page that it shares with no other task.
TEST_F(KernelSwap, memory_swap_out_and_in_by_a_disk_in_memory) {
  const std::filesystem::path in_sysfs = "/sys/block/ram0";
  if (!is_emulated() || std::filesystem::exists(in_sysfs))
    GTEST_SKIP() << "no such disk can be made, but in an emulated machine";
  const std::string size = std::to_string(kAreaBytes >> 10U);
  if (std::system(("modprobe -q brd rd_nr=1 rd_size=" + size).c_str()) != 0)
    GTEST_SKIP() << "there is no brd";
  const std::uint64_t device = device_number(in_sysfs);
  record(SwapArea("/dev/ram0"), in_sysfs);
  EXPECT_EQ(std::system("modprobe -r brd"), 0);
  if (!refusal_.empty())
    GTEST_SKIP() << refusal_;
  SKIP_UNLESS_SERVED(recording_, "memory_swap_in");
  if (std::system("grep -q ' bdev_write_page$' /proc/kallsyms") == 0 && out_.empty())
    GTEST_SKIP() << "this kernel swaps to such a disk without a bio";
  check_disk(device);
}

TEST_F(KernelSwap, memory_swap_in_and_out_by_a_file) {
  FileSystemKind kind = kJournalledExt4;
  kind.disk_bytes = kAreaBytes * 3 / 2;
  const MountedFileSystem mounted(scratch_ / "disk", scratch_ / "mounted", kind);
  if (!mounted.refusal().empty())
    GTEST_SKIP() << mounted.refusal();
  const Fd file(::open((mounted / "swap").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const std::vector<char> zeros(kAreaBytes);
  ASSERT_EQ(::write(file.get(), zeros.data(), zeros.size()), static_cast<ssize_t>(kAreaBytes));
  ASSERT_EQ(::fsync(file.get()), 0);
  record(SwapArea(mounted / "swap"), mounted.device().sysfs());
  if (!refusal_.empty())
    GTEST_SKIP() << refusal_;
  SKIP_UNLESS_SERVED(recording_, "memory_swap_in");
  check_counts();
  check_rows(in_, mounted.device().device());
  check_rows(out_, mounted.device().device());
  check_places();
  for (const std::vector<Row>* rows : {&in_, &out_})
    for (const Row& row : *rows) {
      int block = static_cast<int>(row.u("slot"));
      ASSERT_EQ(::ioctl(file.get(), FIBMAP, &block), 0);
      EXPECT_EQ(row.u("sector"), static_cast<std::uint64_t>(block) * kSectorsOfPage);
    }
}

} // namespace
} // namespace iotrail::live
