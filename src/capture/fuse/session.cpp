// SPDX-License-Identifier: BSD-3-Clause
#include "capture/fuse/session.hpp"

#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstring>
#include <mutex>

#include "base/open_files.hpp"

namespace iotrail::capture::fuse {
namespace {

constexpr unsigned kWorkers = 16; // requests that may wait for the backend at the same time
constexpr std::chrono::milliseconds kWakeInterval{5};
constexpr std::chrono::milliseconds kUnusedPatience{1000};
constexpr std::chrono::milliseconds kBackendPatience{2000}; // for calls in progress there

// Newer than the headers of Debian 12: mappings may be shared although reads and writes are direct.
constexpr std::uint32_t kDirectIoAllowMmap = 1U << 4U; // bit 36, in flags2

// The signal that takes a worker out of read(2). Its handler does nothing.
int wake_signal() {
  return SIGRTMIN + 2;
}

thread_local RequestLog* request_log = nullptr;

// What libfuse says of its last failure.
std::mutex complaint_mutex;
std::string complaint;

void keep_complaint(fuse_log_level, const char* format, va_list arguments) {
  char text[512];
  std::vsnprintf(text, sizeof(text), format, arguments);
  const std::lock_guard lock(complaint_mutex);
  complaint += text;
}

std::string take_complaint() {
  const std::lock_guard lock(complaint_mutex);
  std::string taken = std::exchange(complaint, {});
  while (!taken.empty() && taken.back() == '\n')
    taken.pop_back();
  std::ranges::replace(taken, '\n', ' ');
  return taken;
}

void handle_init(void* files, fuse_conn_info* connection) {
  const unsigned unwanted = FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_HANDLE_KILLPRIV |
                            FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
                            FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS;
  connection->want &= ~unwanted;
  // Names that the kernel may not keep are looked up again by each call: no use in sending them with a directory.
  if (!static_cast<const Passthrough*>(files)->caches)
    connection->want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
  connection->want |= connection->capable & (FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_PARALLEL_DIROPS);
}

// An O_TMPFILE request is a create without a name; libfuse 3.14 does not know it.
void make_known(std::span<std::byte> request) {
  fuse_in_header header{};
  if (request.size() < sizeof(header))
    return;
  std::memcpy(&header, request.data(), sizeof(header));
  if (header.opcode != FUSE_TMPFILE)
    return;
  header.opcode = FUSE_CREATE;
  std::memcpy(request.data(), &header, sizeof(header));
}

// Sets bits of replies that libfuse 3.14 cannot set. `reply`: header and body in one piece.
void add_to_reply(std::vector<std::byte>& reply, std::uint32_t opcode, bool caches) {
  const auto change = [&]<class T>(std::size_t at, auto set) {
    T value{};
    if (reply.size() < at + sizeof(T))
      return;
    std::memcpy(&value, reply.data() + at, sizeof(T));
    set(value);
    std::memcpy(reply.data() + at, &value, sizeof(T));
  };
  constexpr std::size_t kBody = sizeof(fuse_out_header);
  const auto parallel = [](fuse_open_out& open) {
    open.open_flags |= FOPEN_PARALLEL_DIRECT_WRITES;
  };
  if (opcode == FUSE_INIT)
    change.operator()<fuse_init_out>(kBody, [](fuse_init_out& init) {
      init.flags |= FUSE_INIT_EXT;
      init.flags2 |= kDirectIoAllowMmap;
    });
  else if (opcode == FUSE_OPEN && !caches)
    change.operator()<fuse_open_out>(kBody, parallel);
  else if (opcode == FUSE_CREATE && !caches)
    change.operator()<fuse_open_out>(kBody + sizeof(fuse_entry_out), parallel);
}

// The opcode and extensions of the request that this worker serves.
struct Served {
  std::uint32_t opcode = 0;
  bool has_extended_init = false;
};
thread_local Served served;

void note_served(std::span<const std::byte> request) {
  fuse_in_header header{};
  served = {};
  if (request.size() < sizeof(header))
    return;
  std::memcpy(&header, request.data(), sizeof(header));
  served.opcode = header.opcode;
  fuse_init_in init{};
  if (header.opcode != FUSE_INIT || request.size() < sizeof(header) + 16)
    return;
  std::memcpy(&init, request.data() + sizeof(header),
              std::min(sizeof(init), request.size() - sizeof(header)));
  served.has_extended_init = (init.flags & FUSE_INIT_EXT) != 0;
}

bool needs_change(bool caches) {
  return (served.opcode == FUSE_INIT && served.has_extended_init && !caches) ||
         ((served.opcode == FUSE_OPEN || served.opcode == FUSE_CREATE) && !caches);
}

// At once from the directory, later from the files that are open. libfuse's own function closes the descriptor first, from
// which the workers read.
void unmount(const std::filesystem::path& point) {
  if (::geteuid() == 0) {
    ::umount2(point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
    return;
  }
  std::string path = point.native();
  char program[] = "fusermount3";
  char options[] = "-uzq";
  char dashes[] = "--";
  char* words[]{program, options, dashes, path.data(), nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, program, nullptr, nullptr, words, environ) == 0)
    ::waitpid(child, nullptr, 0);
}

Error mount_error(const MountOptions& options) {
  const std::string why = take_complaint();
  Error error = fail(fmt::format("cannot mount at {}", options.point.native()),
                     why.empty() ? "the kernel refused it" : why)
                    .error();
  if (why.find("fusermount3") != why.npos)
    error.hint = "Install fusermount3 (Debian package fuse3), or run iotrail as root.";
  return error;
}

} // namespace

Session::Session(const MountOptions& options, Fd backend, EventQueue& events, IoTraceText* text)
    : options_(options), files_{.nodes = NodeTable(std::move(backend)), .caches = options.caches},
      events_(events), text_(text) {}

Result<std::unique_ptr<Session>> Session::mount(const MountOptions& options, EventQueue& events,
                                                IoTraceText* text) {
  Fd backend(::open(options.backend.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!backend)
    return fail_errno(fmt::format("cannot open the directory {}", options.backend.native()));
  std::unique_ptr<Session> session(new Session(options, std::move(backend), events, text));
  if (Result<void> opened = session->open(); !opened)
    return std::unexpected(opened.error());
  return session;
}

Result<void> Session::open() {
  raise_open_files(); // a node keeps a descriptor
  fuse_set_log_func(keep_complaint);
  handlers_.init = handle_init;
  set_name_handlers(handlers_);
  set_attribute_handlers(handlers_);
  set_file_handlers(handlers_);
  set_directory_handlers(handlers_);
  char name[] = "iotrail";
  char option[] = "-o";
  char own[] = "default_permissions,subtype=iotrail,fsname=iotrail";
  char all[] = "default_permissions,subtype=iotrail,fsname=iotrail,allow_other";
  char* words[]{name, option, ::geteuid() == 0 ? all : own, nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(3, words);
  session_ = fuse_session_new(&arguments, &handlers_, sizeof(handlers_), &files_);
  fuse_opt_free_args(&arguments);
  if (session_ == nullptr)
    return fail("cannot make a FUSE session", take_complaint());
  if (fuse_session_mount(session_, options_.point.c_str()) != 0)
    return std::unexpected(mount_error(options_));
  is_mounted_ = true;
  static constexpr fuse_custom_io kTransport{.writev = write_reply,
                                             .read = read_request,
                                             .splice_receive = nullptr,
                                             .splice_send = nullptr};
  const int fd = fuse_session_fd(session_);
  if (fuse_session_custom_io(session_, &kTransport, fd) != 0)
    return fail("cannot watch a FUSE session", take_complaint());
  return {};
}

ssize_t Session::read_request(int fd, void* buffer, std::size_t size, void*) {
  const ssize_t bytes = ::read(fd, buffer, size);
  if (bytes <= 0)
    return bytes;
  const std::span request(static_cast<std::byte*>(buffer), static_cast<std::size_t>(bytes));
  request_log->begin(request);
  make_known(request);
  note_served(request);
  return bytes;
}

ssize_t Session::write_reply(int fd, iovec* parts, int count, void* files) {
  fuse_out_header header{};
  if (count < 1 || parts[0].iov_len < sizeof(header))
    return ::writev(fd, parts, count);
  std::memcpy(&header, parts[0].iov_base, sizeof(header));
  const bool caches = static_cast<Passthrough*>(files)->caches;
  ssize_t sent = 0;
  int error = 0;
  // Joins replies of three or more parts only: READ has two.
  std::vector<std::byte> whole;
  std::span<const std::byte> body;
  if (count == 2 && parts[0].iov_len == sizeof(header)) {
    body = {static_cast<const std::byte*>(parts[1].iov_base), parts[1].iov_len};
  } else if (count > 1) {
    for (int i = 0; i < count; ++i) {
      const auto* part = static_cast<const std::byte*>(parts[i].iov_base);
      whole.insert(whole.end(), part, part + parts[i].iov_len);
    }
    body = std::span<const std::byte>(whole).subspan(sizeof(header));
  }
  const auto send = [&] {
    if (header.error == 0 && needs_change(caches)) {
      std::vector<std::byte> changed;
      for (int i = 0; i < count; ++i) {
        const auto* part = static_cast<const std::byte*>(parts[i].iov_base);
        changed.insert(changed.end(), part, part + parts[i].iov_len);
      }
      add_to_reply(changed, served.opcode, caches);
      sent = ::write(fd, changed.data(), changed.size());
    } else {
      sent = ::writev(fd, parts, count);
    }
    error = errno;
  };
  request_log->reply(header.unique, header.error, body, send);
  errno = error;
  return sent;
}

void Session::work() {
  prepare_worker();
  RequestLog log(files_.nodes, events_, text_);
  request_log = &log;
  sigset_t wake;
  sigemptyset(&wake);
  sigaddset(&wake, wake_signal());
  ::pthread_sigmask(SIG_UNBLOCK, &wake, nullptr);
  fuse_buf buffer{};
  while (!is_stopping_ && !fuse_session_exited(session_)) {
    const int bytes = fuse_session_receive_buf(session_, &buffer);
    if (bytes == -EINTR || bytes == -EAGAIN)
      continue;
    if (bytes <= 0)
      break; // unmounted
    fuse_session_process_buf(session_, &buffer);
  }
  std::free(buffer.mem);
  if (!is_stopping_)
    has_ended_ = true;
  request_log = nullptr;
  --workers_;
}

void Session::serve() {
  struct sigaction nothing{};
  nothing.sa_handler = [](int) {};
  ::sigaction(wake_signal(), &nothing, nullptr);
  for (unsigned i = 0; i < kWorkers; ++i) {
    ++workers_;
    threads_.emplace_back([this] { work(); });
  }
}

bool Session::wait_for_workers(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (workers_ != 0 && std::chrono::steady_clock::now() < until) {
    for (std::thread& thread : threads_)
      ::pthread_kill(thread.native_handle(), wake_signal());
    std::this_thread::sleep_for(kWakeInterval);
  }
  return workers_ == 0;
}

bool Session::end() {
  if (std::exchange(is_mounted_, false) && !has_ended_)
    unmount(options_.point);
  // The kernel ends the connection once no program uses a file. Then a worker sees the end.
  const auto until = std::chrono::steady_clock::now() + kUnusedPatience;
  while (!has_ended_ && !threads_.empty() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(kWakeInterval);
  is_stopping_ = true;
  events_.close();
  const bool have_ended = wait_for_workers(kBackendPatience);
  for (std::thread& thread : threads_)
    have_ended ? thread.join() : thread.detach();
  threads_.clear();
  return has_ended_;
}

Session::~Session() {
  if (is_mounted_)
    unmount(options_.point);
  if (session_ != nullptr)
    fuse_session_destroy(session_); // closes the connection
}

} // namespace iotrail::capture::fuse
