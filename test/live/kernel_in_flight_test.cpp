// SPDX-License-Identifier: BSD-3-Clause
//
// More objects in flight than the kernel part follows: losses are counted, and the recorded rows
// are right.
#include <linux/aio_abi.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "kernel_block_device_fixture.hpp"
#include "mounted_file_system.hpp"
#include "null_disk.hpp"

namespace iotrail::live {
namespace {

constexpr std::uint32_t kFollowed = 4;

class KernelInFlight : public testing::Test {
protected:
  void record(const std::vector<std::string>& events, const std::function<int()>& body) {
    recording_ = Recording::alone({.events = events, .in_flight_at_once = kFollowed}, body);
    if (!recording_.refusal().empty())
      return;
    EXPECT_EQ(recording_.status(), 0);
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
  }

  ScratchDirectory scratch_;
  Recording recording_;
};

TEST_F(KernelInFlight, async_operations_beyond_those_that_are_followed_are_losses) {
  constexpr std::size_t kOperations = 20;
  record({"async_operation"}, [&] {
    const Fd file(::open((scratch_ / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    char byte = 'x';
    std::array<iocb, kOperations> operations{};
    std::array<iocb*, kOperations> list{};
    for (std::size_t at = 0; at < kOperations; ++at) {
      operations[at].aio_lio_opcode = IOCB_CMD_PWRITE;
      operations[at].aio_fildes = static_cast<std::uint32_t>(file.get());
      operations[at].aio_buf = reinterpret_cast<std::uintptr_t>(&byte);
      operations[at].aio_nbytes = 1;
      operations[at].aio_offset = static_cast<std::int64_t>(at);
      list[at] = &operations[at];
    }
    constexpr long kAll = kOperations;
    aio_context_t context = 0;
    std::array<io_event, kOperations> done{};
    return ::syscall(SYS_io_setup, kAll, &context) == 0 &&
                   ::syscall(SYS_io_submit, context, kAll, list.data()) == kAll &&
                   ::syscall(SYS_io_getevents, context, kAll, kAll, done.data(), nullptr) == kAll
               ? 0
               : errno;
  });
  SKIP_UNLESS_SERVED(recording_, "async_operation");
  const std::vector<Row>& rows = recording_.rows("async_operation");
  ASSERT_EQ(rows.size(), kFollowed);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    EXPECT_EQ(rows[at].u("offset"), at) << "those that found room are the first";
    EXPECT_EQ(rows[at].s("result"), 1);
  }
  EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_async_untracked), kOperations - kFollowed);
  EXPECT_EQ(recording_.lost(), kOperations - kFollowed);
}

TEST_F(KernelInFlight, connections_beyond_those_that_are_followed_are_gaps) {
  constexpr int kConnections = 10;
  record({"net_state", "syscall_connection"}, [] {
    const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener.get(), name, length) != 0 || ::listen(listener.get(), kConnections) != 0 ||
        ::getsockname(listener.get(), name, &length) != 0)
      return errno;
    std::vector<Fd> ends;
    for (int number = 0; number < kConnections; ++number) {
      ends.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(ends.back().get(), name, length) != 0)
        return errno;
    }
    return 0;
  });
  SKIP_UNLESS_SERVED(recording_, "net_state");
  EXPECT_EQ(recording_.rows("syscall_connection", "call", IOT_syscall_connect).size(),
            std::size_t{kConnections});
  EXPECT_GE(recording_.counter(IOT_COUNTER_kernel_connection_untracked), kConnections - kFollowed);
  EXPECT_FALSE(recording_.rows("net_state").empty());
}

// Each awaited disk and each journalled file system needs an entry of its own.
TEST_F(KernelInFlight, disks_beyond_those_that_are_followed_are_counted) {
  std::vector<std::unique_ptr<MountedFileSystem>> mounted;
  for (std::uint32_t number = 0; number < kFollowed + 2; ++number) {
    const std::string name = std::to_string(number);
    mounted.push_back(
        std::make_unique<MountedFileSystem>(scratch_ / ("disk" + name), scratch_ / name));
    if (!mounted.back()->refusal().empty())
      GTEST_SKIP() << mounted.back()->refusal();
  }
  record({"fs_journal_commit", "block_complete", "syscall_sync"}, [&] {
    for (const auto& disk : mounted) {
      const Fd file(::open((*disk / "file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
      if (::write(file.get(), "x", 1) != 1 || ::fsync(file.get()) != 0)
        return errno;
    }
    return 0;
  });
  SKIP_UNLESS_SERVED(recording_, "fs_journal_commit");
  EXPECT_EQ(recording_.rows("syscall_sync").size(), mounted.size());
  EXPECT_GE(recording_.counter(IOT_COUNTER_kernel_sync_untracked), 2U);
  EXPECT_GE(recording_.counter(IOT_COUNTER_kernel_journal_unknown), 2U);
  EXPECT_GE(recording_.rows("fs_journal_commit").size(), kFollowed);
}

TEST_F(KernelInFlight, requests_beyond_those_that_are_followed_are_losses) {
  constexpr std::size_t kRequests = 3500; // the small sets have 2,048 entries
  MAKE_NULL_DISK(disk, "gb=1 bs=4096 irqmode=2 completion_nsec=2000000000 hw_queue_depth=4096 "
                       "submit_queues=1");
  std::vector<std::uint64_t> apart;
  for (std::size_t number = 0; number < kRequests; ++number)
    apart.push_back(2 * number);
  record({"block_queue", "block_issue", "block_complete"}, [&] {
    DirectDevice direct(NullDisk::path(), kBlockBytes);
    return direct.fd() < 0 ? errno : direct.write_at_once(apart);
  });
  ASSERT_EQ(recording_.refusal(), "");
  const std::uint64_t no_request = recording_.counter(IOT_COUNTER_kernel_request_untracked);
  const std::uint64_t no_bio = recording_.counter(IOT_COUNTER_kernel_bio_untracked);
  EXPECT_GT(no_request, 0U) << "all found room";
  EXPECT_GT(no_bio, 0U) << "all found room";
  EXPECT_EQ(recording_.lost(), no_request);
  EXPECT_EQ(recording_.rows("block_queue").size(), kRequests);
  EXPECT_EQ(recording_.rows("block_issue").size() + no_bio, kRequests);
  const std::vector<Row>& completions = recording_.rows("block_complete");
  EXPECT_EQ(completions.size() + no_request + no_bio, kRequests)
      << completions.size() << " completions, " << no_request << " requests and " << no_bio
      << " bios not followed";
  for (const Row& row : completions) {
    EXPECT_EQ(row.u("bytes"), kBlockBytes);
    EXPECT_GE(row.u("duration_ns"), 2'000'000'000U);
  }
}

} // namespace
} // namespace iotrail::live
