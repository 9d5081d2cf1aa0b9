// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/unfinished/call_state.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/fd.hpp"

namespace iotrail::capture::kernel {
namespace {

constexpr std::size_t kStateBytesMost = std::size_t{1} << 20U;
constexpr std::string_view kDeletedMark = " (deleted)";

// Empty: the thread is gone, or its data may not be read.
std::string read_state(iot_u32 tid, std::string_view name) {
  std::ifstream file(fmt::format("/proc/{}/{}", tid, name));
  std::string text;
  for (std::string line; text.size() < kStateBytesMost && std::getline(file, line);)
    text.append(line).push_back('\n');
  return text;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<std::uint64_t> number_in(std::string_view word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// The number after a name such as "ino:".
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(name))
      continue;
    line.remove_prefix(std::min(line.find_first_not_of(" \t", name.size()), line.size()));
    return number_in(line);
  }
  return {};
}

std::optional<iot_u32> device_of_mount(iot_u32 tid, std::uint64_t mount) {
  const std::string mounts = read_state(tid, "mountinfo");
  for (std::string_view left = mounts; !left.empty();)
    if (const auto device = parse_mount_device(take_line(left), mount))
      return device;
  return {};
}

// Pipes, sockets and the like are on no mount of a process. All of a kind have one device.
std::optional<iot_u32> device_of_kind(std::string_view path) {
  Fd any;
  if (path.starts_with("pipe:[")) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return {};
    any = Fd(ends[0]);
    ::close(ends[1]);
  } else if (path.starts_with("socket:[")) {
    any = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  } else if (path.starts_with("anon_inode:")) {
    any = Fd(::epoll_create1(EPOLL_CLOEXEC));
  }
  struct stat status{};
  if (!any || ::fstat(any.get(), &status) != 0)
    return {};
  return IOT_DEVICE(major(status.st_dev), minor(status.st_dev));
}

iot_u32 type_of(std::string_view path) {
  if (path.starts_with("socket:["))
    return S_IFSOCK;
  if (path.starts_with("pipe:["))
    return S_IFIFO;
  return path.starts_with("/dev/") ? S_IFCHR : S_IFREG;
}

// The memory of a thread may be locked, or be a file that cannot be read. The reader is therefore a
// thread that may wait alone.
struct MemoryRead {
  std::mutex mutex;
  std::condition_variable done;
  bool is_done = false;
  std::string text;
};

std::string text_at(iot_u32 tid, std::uint64_t address) {
  // By pages: the next one may not exist.
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::string text;
  while (text.size() < PATH_MAX) {
    const std::uint64_t at = address + text.size();
    std::vector<char> bytes(std::min<std::uint64_t>(page - at % page, PATH_MAX - text.size()));
    const iovec own{.iov_base = bytes.data(), .iov_len = bytes.size()};
    const iovec others{.iov_base = reinterpret_cast<void*>(at), .iov_len = bytes.size()};
    const ssize_t got = ::process_vm_readv(static_cast<pid_t>(tid), &own, 1, &others, 1, 0);
    if (got <= 0)
      return {};
    bytes.resize(static_cast<std::size_t>(got));
    const auto end = std::ranges::find(bytes, '\0');
    text.append(bytes.begin(), end);
    if (end != bytes.end())
      return text;
  }
  return {};
}

} // namespace

std::string path_in_memory(iot_u32 tid, std::uint64_t address) {
  constexpr std::chrono::milliseconds kPatience(100);
  const auto read = std::make_shared<MemoryRead>();
  try {
    std::thread([read, tid, address] {
      std::string text = text_at(tid, address);
      const std::scoped_lock lock(read->mutex);
      read->text = std::move(text);
      read->is_done = true;
      read->done.notify_one();
    }).detach();
  } catch (const std::system_error&) { // no thread is to be had
    return {};
  }
  std::unique_lock lock(read->mutex);
  return read->done.wait_for(lock, kPatience, [&] { return read->is_done; }) ? read->text
                                                                             : std::string();
}

std::optional<OpenFile> file_of_descriptor(iot_u32 tid, std::int32_t fd) {
  if (fd < 0)
    return {};
  std::error_code gone;
  std::string path = std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", tid, fd), gone);
  const std::string facts = read_state(tid, fmt::format("fdinfo/{}", fd));
  const auto inode = number_of(facts, "ino:");
  const auto mount = number_of(facts, "mnt_id:");
  if (gone || !inode || !mount)
    return {};
  auto device = device_of_mount(tid, *mount);
  if (!device)
    device = device_of_kind(path);
  if (!device)
    return {};
  OpenFile file{.key = {.device = *device, .inode = *inode, .generation = 0},
                .mode = type_of(path),
                .path = {},
                .is_deleted = path.starts_with("/") && path.ends_with(kDeletedMark)};
  if (file.is_deleted)
    path.resize(path.size() - kDeletedMark.size());
  file.path = std::move(path);
  return file;
}

std::string kernel_stack(iot_u32 tid) {
  return parse_kernel_stack(read_state(tid, "stack"));
}

namespace {

// The processor on which a thread ran last: the 37th word behind its name in /proc/TID/stat.
std::optional<std::size_t> last_cpu(iot_u32 tid) {
  constexpr int kWord = 37;
  const std::string stat = read_state(tid, "stat");
  std::size_t at = stat.rfind(')');
  for (int word = 0; word < kWord && at != stat.npos; ++word)
    at = stat.find(' ', at + 1);
  std::size_t cpu = 0;
  if (at == stat.npos ||
      std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), cpu).ec != std::errc())
    return {};
  return cpu;
}

// Runs this thread on one processor until the destructor, if it may.
class OnProcessor {
public:
  explicit OnProcessor(std::size_t cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    if (cpu >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof before_, &before_) != 0)
      return;
    CPU_SET(cpu, &one);
    is_there_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
  }
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;
  ~OnProcessor() {
    if (is_there_)
      ::sched_setaffinity(0, sizeof before_, &before_);
  }
  bool is_there() const { return is_there_; }

private:
  cpu_set_t before_{};
  bool is_there_ = false;
};

} // namespace

std::uint64_t last_run_ns(iot_u32 tid) {
  const auto cpu = last_cpu(tid);
  if (!cpu)
    return 0;
  // The scheduler has a clock for each processor, which leaves out interrupts and stolen time. It
  // has just noted when this thread ran there.
  const OnProcessor there(*cpu);
  if (!there.is_there())
    return 0;
  const auto last_run = parse_last_run(read_state(tid, "sched"));
  ::sched_yield();
  const std::uint64_t now_ns = monotonic_ns();
  const auto own = parse_last_run(read_state(static_cast<iot_u32>(::gettid()), "sched"));
  if (!last_run || !own || *last_run > *own || *own - *last_run > now_ns)
    return 0;
  return now_ns - (*own - *last_run);
}

// Lines such as "[<0>] pipe_read+0x1b2/0x390", innermost first.
std::string parse_kernel_stack(std::string_view text) {
  std::vector<std::string_view> functions;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::size_t begin = line.find("] ");
    if (!line.starts_with("[<") || begin == line.npos)
      continue;
    line.remove_prefix(begin + 2);
    const std::string_view name = line.substr(0, line.find('+'));
    if (!name.empty() && !name.starts_with("0x") && name.find_first_of(" ;") == name.npos)
      functions.push_back(name);
  }
  std::string stack;
  for (auto function = functions.rbegin(); function != functions.rend(); ++function)
    stack.append(stack.empty() ? "" : ";").append(*function);
  return stack;
}

// "se.exec_start    :    447269.061329", in milliseconds with six decimals.
std::optional<std::uint64_t> parse_last_run(std::string_view text) {
  constexpr std::string_view kName = "se.exec_start";
  constexpr std::size_t kDecimals = 6;
  constexpr std::uint64_t kNsInMs = 1'000'000;
  constexpr std::uint64_t kMostMs = UINT64_MAX / kNsInMs - 1;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!line.starts_with(kName))
      continue;
    const std::string_view value =
        line.substr(std::min(line.find_last_of(" :\t") + 1, line.size()));
    const std::size_t point = std::min(value.find('.'), value.size());
    const auto whole = number_in(value.substr(0, point));
    const std::string_view decimals = value.substr(std::min(point + 1, value.size()));
    const auto part = number_in(decimals);
    if (!whole || !part || decimals.size() != kDecimals || *whole > kMostMs)
      return {};
    return *whole * kNsInMs + *part;
  }
  return {};
}

// "36 35 98:0 /mnt1 /mnt2 rw,noatime ...": the mount, its parent, the device.
std::optional<iot_u32> parse_mount_device(std::string_view line, std::uint64_t mount) {
  std::istringstream words{std::string(line)};
  std::string id;
  std::string parent;
  std::string device;
  words >> id >> parent >> device;
  const std::size_t colon = device.find(':');
  if (number_in(id) != mount || colon == device.npos)
    return {};
  const auto major = number_in(std::string_view(device).substr(0, colon));
  const auto minor = number_in(std::string_view(device).substr(colon + 1));
  if (!major || !minor)
    return {};
  return IOT_DEVICE(static_cast<iot_u32>(*major), static_cast<iot_u32>(*minor));
}

} // namespace iotrail::capture::kernel
