// SPDX-License-Identifier: BSD-3-Clause
#include "watch/control_mount.hpp"

#define FUSE_USE_VERSION 312
#include <fuse.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/open_files.hpp"
#include "capture/fuse/fuse_source.hpp"
#include "watch/log_text.hpp"

namespace iotrail::watch {
namespace {

std::mutex complaint_mutex;
std::string complaint; // what libfuse says of its last failure

void keep_complaint(fuse_log_level, const char* format, va_list arguments) {
  char text[512];
  std::vsnprintf(text, sizeof(text), format, arguments);
  const std::lock_guard lock(complaint_mutex);
  complaint = text;
  complaint.erase(complaint.find_last_not_of('\n') + 1);
}

Error mount_error(const std::filesystem::path& point) {
  const std::lock_guard lock(complaint_mutex);
  return fail("cannot mount at " + point.native(),
              complaint.empty() ? "the kernel refused it" : complaint)
      .error();
}

enum class Kind : std::uint8_t { root, control, log_directory, log, log_control };

// A path below the mount; `name`: of the log.
struct Place {
  Kind kind;
  std::string name{};
};

ControlMount& self() {
  return *static_cast<ControlMount*>(fuse_get_context()->private_data);
}

std::optional<Place> place_of(std::string_view path) {
  path.remove_prefix(1);
  if (path.empty())
    return Place{Kind::root};
  if (path == "control")
    return Place{Kind::control};
  const std::size_t slash = std::min(path.find('/'), path.size());
  const std::string name(path.substr(0, slash));
  const std::string_view file = path.substr(std::min(slash + 1, path.size()));
  if (!self().watcher().has(name))
    return std::nullopt;
  if (slash == path.size())
    return Place{Kind::log_directory, name};
  if (file == "log")
    return Place{Kind::log, name};
  if (file == "control")
    return Place{Kind::log_control, name};
  return std::nullopt;
}

bool is_directory(Kind kind) {
  return kind == Kind::root || kind == Kind::log_directory;
}

int get_attributes(const char* path, struct stat* status, fuse_file_info*) {
  const auto place = place_of(path);
  if (!place)
    return -ENOENT;
  *status = {};
  status->st_uid = ::geteuid();
  status->st_gid = ::getegid();
  status->st_nlink = is_directory(place->kind) ? 2 : 1;
  status->st_mode = is_directory(place->kind)  ? S_IFDIR | 0500U
                    : place->kind == Kind::log ? S_IFREG | 0400U
                                               : S_IFREG | 0600U;
  return 0;
}

int read_directory(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*,
                   fuse_readdir_flags) {
  const auto place = place_of(path);
  if (!place)
    return -ENOENT;
  const auto put = [&](const std::string& name) {
    fill(buffer, name.c_str(), nullptr, 0, fuse_fill_dir_flags{});
  };
  put(".");
  put("..");
  put("control");
  if (place->kind != Kind::root) {
    put("log");
    return 0;
  }
  const auto logs = self().watcher().list(false);
  for (const LogState& log : logs.value_or(std::vector<LogState>()))
    put(log.name);
  return 0;
}

// As it is when it is opened.
Result<std::string> text_of(const Place& place) {
  Watcher& watcher = self().watcher();
  if (place.kind == Kind::control) {
    const auto logs = watcher.list(false);
    return logs ? Result<std::string>(list_text(*logs)) : std::unexpected(logs.error());
  }
  if (place.kind == Kind::log) {
    const auto log = watcher.log(place.name);
    return log ? Result<std::string>(log_text(*log)) : std::unexpected(log.error());
  }
  const auto state = watcher.state(place.name);
  return state ? Result<std::string>(state_text(*state)) : std::unexpected(state.error());
}

int open_file(const char* path, fuse_file_info* info) {
  const auto place = place_of(path);
  if (!place)
    return -ENOENT;
  const bool writes = (info->flags & O_ACCMODE) != O_RDONLY;
  if (writes && place->kind == Kind::log)
    return -EACCES;
  auto text = std::make_unique<std::string>();
  if ((info->flags & O_ACCMODE) != O_WRONLY) {
    auto made = text_of(*place);
    if (!made)
      return self().refuse(made.error());
    *text = std::move(*made);
  }
  info->direct_io = 1; // sizes are not known before
  info->fh = reinterpret_cast<std::uintptr_t>(text.release());
  return 0;
}

int read_file(const char*, char* buffer, std::size_t size, off_t offset, fuse_file_info* info) {
  const auto& text = *reinterpret_cast<std::string*>(info->fh);
  const std::size_t at = std::min(static_cast<std::size_t>(offset), text.size());
  return static_cast<int>(text.copy(buffer, size, at));
}

Result<void> carry_out(const Place& place, std::string_view line) {
  Watcher& watcher = self().watcher();
  if (place.kind == Kind::log_control) {
    const auto command = parse_log_command(line.substr(0, kControlBytesMost));
    if (!command)
      return fail_usage("there is no such command for a log", {},
                        "Write `start`, `stop`, `reset` or `timereset`.");
    return watcher.command(place.name, *command);
  }
  const auto parsed = parse_control(line);
  if (!parsed)
    return std::unexpected(parsed.error());
  if (!parsed->path.starts_with('/'))
    return fail_usage(fmt::format("'{}' is no absolute path", parsed->path));
  if (!parsed->is_add)
    return watcher.remove(parsed->path);
  const auto added = watcher.add(parsed->path, parsed->most);
  return added ? Result<void>() : std::unexpected(added.error());
}

int write_file(const char* path, const char* buffer, std::size_t size, off_t, fuse_file_info*) {
  const auto place = place_of(path);
  if (!place)
    return -ENOENT;
  const Result<void> done = carry_out(*place, {buffer, size});
  return done ? static_cast<int>(size) : self().refuse(done.error());
}

// A shell's `>` truncates.
int truncate_file(const char* path, off_t, fuse_file_info*) {
  const auto place = place_of(path);
  return !place ? -ENOENT : place->kind == Kind::log ? -EACCES : 0;
}

int release_file(const char*, fuse_file_info* info) {
  delete reinterpret_cast<std::string*>(info->fh);
  return 0;
}

void* initialize(fuse_conn_info*, fuse_config* config) {
  config->attr_timeout = 0;
  config->entry_timeout = 0;
  config->negative_timeout = 0;
  config->direct_io = 1;
  return fuse_get_context()->private_data;
}

fuse_operations operations() {
  fuse_operations all{};
  all.init = initialize;
  all.getattr = get_attributes;
  all.readdir = read_directory;
  all.open = open_file;
  all.read = read_file;
  all.write = write_file;
  all.truncate = truncate_file;
  all.release = release_file;
  return all;
}

int wake_signal() {
  return SIGRTMIN + 3;
}

// libfuse's own function closes the descriptor first, from which the workers read.
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

} // namespace

ControlMount::ControlMount(std::filesystem::path point, Watcher& watcher, OnRefused on_refused)
    : point_(std::move(point)), watcher_(watcher), on_refused_(std::move(on_refused)) {}

Result<std::unique_ptr<ControlMount>> ControlMount::mount(const std::filesystem::path& point,
                                                          Watcher& watcher, OnRefused on_refused) {
  if (Result<void> checked = capture::check_mount_point(point); !checked)
    return std::unexpected(checked.error());
  std::unique_ptr<ControlMount> mount(new ControlMount(point, watcher, std::move(on_refused)));
  if (Result<void> opened = mount->open(); !opened)
    return std::unexpected(opened.error());
  return mount;
}

Result<void> ControlMount::open() {
  fuse_set_log_func(keep_complaint);
  char name[] = "iotrail";
  char option[] = "-o";
  char values[] = "default_permissions,subtype=iotrail-watch,fsname=iotrail";
  char* words[]{name, option, values, nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(3, words);
  const fuse_operations handlers = operations();
  fuse_ = fuse_new(&arguments, &handlers, sizeof handlers, this);
  fuse_opt_free_args(&arguments);
  if (fuse_ == nullptr || fuse_mount(fuse_, point_.c_str()) != 0)
    return std::unexpected(mount_error(point_));
  is_mounted_ = true;
  struct sigaction nothing{};
  nothing.sa_handler = [](int) {};
  ::sigaction(wake_signal(), &nothing, nullptr);
  thread_ = std::thread([this] { serve(); });
  return {};
}

void ControlMount::serve() {
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_mt(fuse_, config);
  fuse_loop_cfg_destroy(config);
  has_ended_ = true;
}

// The loop waits for its workers, which end between two requests.
ControlMount::~ControlMount() {
  if (is_mounted_ && !has_ended_)
    unmount(point_);
  if (thread_.joinable()) {
    fuse_exit(fuse_);
    while (!has_ended_) {
      ::pthread_kill(thread_.native_handle(), wake_signal());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    thread_.join();
  }
  if (fuse_ != nullptr)
    fuse_destroy(fuse_);
}

int ControlMount::refuse(const Error& error) const {
  on_refused_(error);
  if (error.code != 0)
    return -error.code;
  return error.kind == Failure::usage ? -EINVAL : -ENOENT;
}

} // namespace iotrail::watch
