// SPDX-License-Identifier: BSD-3-Clause
#include "block_device.hpp"

#include <linux/aio_abi.h>
#include <linux/blkpg.h>
#include <linux/fs.h>
#include <linux/loop.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace iotrail::live {
namespace {

constexpr std::uint64_t kAlignment = 4096;

int outcome(ssize_t moved, std::uint64_t bytes) {
  if (moved < 0)
    return errno;
  return static_cast<std::uint64_t>(moved) == bytes ? 0 : EIO;
}

} // namespace

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string mapped_device(const std::string& name) {
  for (const auto& disk : std::filesystem::directory_iterator("/sys/block"))
    if (text_of(disk.path() / "dm/name") == name + "\n")
      return "/dev/" + disk.path().filename().string();
  return {};
}

std::uint64_t device_number(const std::filesystem::path& in_sysfs) {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  char colon = 0;
  std::istringstream(text_of(in_sysfs / "dev")) >> high >> colon >> low;
  return high << IOT_MINOR_BITS | low;
}

bool has_module(const std::string& name) {
  return std::filesystem::exists("/sys/module/" + name) ||
         std::system(("modprobe -q " + name + " 2>/dev/null").c_str()) == 0;
}

LoopDevice::LoopDevice(const std::filesystem::path& file, std::uint32_t block_bytes) {
  has_module("loop");
  const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  const Fd backing(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!control || !backing) {
    refusal_ = "no loop device is to be had";
    return;
  }
  loop_config config{};
  config.fd = static_cast<std::uint32_t>(backing.get());
  config.block_size = block_bytes;
  config.info.lo_flags = LO_FLAGS_PARTSCAN;
  // Another test may take the free device first.
  constexpr int kTriesMost = 100;
  int code = EBUSY;
  for (int tries = 0; code == EBUSY && tries < kTriesMost; ++tries)
    code = take_free(control, config);
  if (code != 0)
    refusal_ = "the loop device cannot be set up: " + errno_text(code);
}

int LoopDevice::take_free(const Fd& control, const loop_config& config) {
  number_ = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
  if (number_ < 0)
    return errno;
  Fd device(::open(path().c_str(), O_RDWR | O_CLOEXEC));
  if (!device || ::ioctl(device.get(), LOOP_CONFIGURE, &config) != 0)
    return errno;
  fd_ = device.release();
  return 0;
}

LoopDevice::~LoopDevice() {
  if (fd_ < 0)
    return;
  for (const auto& [setting, value] : usual_) // a device with this number keeps them otherwise
    std::ofstream(sysfs() / "queue" / setting) << value;
  ::ioctl(fd_, LOOP_CLR_FD);
  ::close(fd_);
}

bool LoopDevice::set_queue(const std::string& setting, const std::string& value) {
  const std::filesystem::path file = sysfs() / "queue" / setting;
  const std::string before = text_of(file);
  const std::size_t chosen = before.find('['); // "[none] mq-deadline"
  usual_.emplace(setting, chosen == before.npos
                              ? before
                              : before.substr(chosen + 1, before.find(']') - chosen - 1));
  return static_cast<bool>(std::ofstream(file) << value << std::flush);
}

bool LoopDevice::add_partition(std::uint64_t first_sector, std::uint64_t sectors) const {
  blkpg_partition partition{};
  partition.pno = 1;
  partition.start = static_cast<long long>(first_sector * kSectorBytes);
  partition.length = static_cast<long long>(sectors * kSectorBytes);
  blkpg_ioctl_arg request{
      .op = BLKPG_ADD_PARTITION, .flags = 0, .datalen = sizeof partition, .data = &partition};
  return ::ioctl(fd_, BLKPG, &request) == 0;
}

DirectDevice::DirectDevice(const std::string& path, std::uint32_t block_bytes)
    : block_bytes_(block_bytes), fd_(::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC)) {}

DirectDevice::~DirectDevice() {
  ::close(fd_);
}

char* DirectDevice::buffer(std::uint64_t bytes) {
  memory_.assign(bytes + kAlignment, 'x');
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
  return memory_.data() + (kAlignment - begin % kAlignment) % kAlignment;
}

int DirectDevice::write(std::uint64_t first_block, std::uint64_t blocks, int flags) {
  const std::uint64_t bytes = blocks * block_bytes_;
  const iovec piece{buffer(bytes), bytes};
  const auto at = static_cast<off_t>(first_block * block_bytes_);
  return outcome(::pwritev2(fd_, &piece, 1, at, flags), bytes);
}

int DirectDevice::read(std::uint64_t first_block, std::uint64_t blocks) {
  const std::uint64_t bytes = blocks * block_bytes_;
  return outcome(::pread(fd_, buffer(bytes), bytes, static_cast<off_t>(first_block * block_bytes_)),
                 bytes);
}

int DirectDevice::discard(std::uint64_t first_block, std::uint64_t blocks) const {
  std::uint64_t range[] = {first_block * block_bytes_, blocks * block_bytes_};
  return ::ioctl(fd_, BLKDISCARD, range) == 0 ? 0 : errno;
}

int DirectDevice::write_at_once(const std::vector<std::uint64_t>& blocks) {
  std::vector<iocb> operations(blocks.size());
  std::vector<iocb*> pointers;
  const auto data = reinterpret_cast<std::uintptr_t>(buffer(block_bytes_));
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    operations[at].aio_lio_opcode = IOCB_CMD_PWRITE;
    operations[at].aio_fildes = static_cast<std::uint32_t>(fd_);
    operations[at].aio_buf = data;
    operations[at].aio_nbytes = block_bytes_;
    operations[at].aio_offset = static_cast<std::int64_t>(blocks[at] * block_bytes_);
    pointers.push_back(&operations[at]);
  }
  const auto count = static_cast<long>(blocks.size());
  aio_context_t context = 0;
  if (::syscall(SYS_io_setup, count, &context) != 0 ||
      ::syscall(SYS_io_submit, context, count, pointers.data()) != count)
    return errno;
  std::vector<io_event> done(blocks.size());
  const bool is_done =
      ::syscall(SYS_io_getevents, context, count, count, done.data(), nullptr) == count;
  ::syscall(SYS_io_destroy, context);
  return is_done ? 0 : EIO;
}

} // namespace iotrail::live
