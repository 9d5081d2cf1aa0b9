// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/arena_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.hpp"
#include "capture/preload/shared/lost_memory.hpp"

namespace iotrail::capture::preload {

namespace fs = std::filesystem;

namespace {

// Differs from the prefix of versions without locks, so that neither version takes the other's
// arenas for abandoned ones.
constexpr std::string_view kPrefix = "iotrail-arena-";
constexpr int kTriesMost = 16;

fs::path parent_directory() {
  if (access("/dev/shm", W_OK | X_OK) == 0)
    return "/dev/shm";
  std::error_code ignored;
  const fs::path directory = fs::temp_directory_path(ignored);
  return ignored ? fs::path("/tmp") : directory;
}

// A running recorder holds the lock of its arena's directory. The pid in the name proves nothing:
// it may be of another namespace, or reused.
enum class DirectoryLock { taken, held, failed };
DirectoryLock lock(const Fd& directory) {
  if (directory && flock(directory.get(), LOCK_EX | LOCK_NB) == 0)
    return DirectoryLock::taken;
  return directory && errno == EWOULDBLOCK ? DirectoryLock::held : DirectoryLock::failed;
}

Fd open_directory(const fs::path& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Arenas of recorders that were killed together with their guards.
void remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().native().starts_with(kPrefix))
      continue;
    if (const Fd directory = open_directory(entry.path()); lock(directory) == DirectoryLock::taken)
      fs::remove_all(entry.path(), ignored);
  }
}

bool is_unlinked(const Fd& file) {
  struct stat attributes{};
  return fstat(file.get(), &attributes) == 0 && attributes.st_nlink == 0;
}

struct ArenaDirectory {
  fs::path path;
  Fd lock;
};

// Between creation and lock, another recorder may take the directory for an abandoned one: then a
// new one is made.
Result<ArenaDirectory> make_directory(const fs::path& parent) {
  for (int tries = 0; tries < kTriesMost; ++tries) {
    std::string path = (parent / fmt::format("{}{}-XXXXXX", kPrefix, getpid())).string();
    if (mkdtemp(path.data()) == nullptr)
      return fail_errno("cannot make a directory for the preload arena in " + parent.string());
    Fd directory = open_directory(path);
    if (!directory && errno != ENOENT) {
      const int code = errno;
      rmdir(path.c_str());
      return fail_errno("cannot open the directory of the preload arena " + path, code);
    }
    // On a file system without locks, no recorder can lock the directory, so none removes it.
    if (!directory || lock(directory) == DirectoryLock::held || is_unlinked(directory))
      continue;
    if (geteuid() == 0 && fchmod(directory.get(), 0711) != 0)
      return fail_errno("cannot set the mode of " + path);
    return ArenaDirectory{path, std::move(directory)};
  }
  return fail("cannot make a directory for the preload arena in " + parent.string(),
              "others remove it at once");
}

// Others cannot list the directory, so the name of the file in it is secret.
Result<fs::path> secret_name(const fs::path& directory) {
  std::uint64_t name[2] = {};
  if (getrandom(name, sizeof(name), 0) != sizeof(name))
    return fail_errno("cannot get random bytes");
  return directory / fmt::format("{:016x}{:016x}", name[0], name[1]);
}

Result<Fd> make_file(const fs::path& path, std::size_t bytes, std::size_t control_bytes) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file)
    return fail_errno("cannot make the preload arena " + path.string());
  if (geteuid() == 0 && fchmod(file.get(), 0666) != 0)
    return fail_errno("cannot set the mode of " + path.string());
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    return fail_errno("cannot give the preload arena its size");
  if (const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(control_bytes)))
    return fail_errno("no memory for the preload arena " + path.string(), error,
                      "the file system there must have some megabytes free");
  return file;
}

} // namespace

Result<ArenaFile> ArenaFile::create(iot_u32 slots, ClockKind clock, const WantedCalls& wanted,
                                    const Tasks& tasks) {
  const fs::path parent = parent_directory();
  remove_abandoned(parent);
  const std::size_t bytes = arena_bytes(slots);
  Result<ArenaDirectory> directory = make_directory(parent);
  if (!directory)
    return std::unexpected(directory.error());
  const Result<fs::path> path = secret_name(directory->path);
  if (!path)
    return std::unexpected(path.error());
  ArenaGuard guard(*path);
  Result<Fd> file = make_file(*path, bytes, rings_offset(kPlaces));
  void* const base = file ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                                 file->get(), 0)
                          : MAP_FAILED;
  if (base == MAP_FAILED) {
    const int code = errno;
    std::error_code ignored;
    fs::remove_all(path->parent_path(), ignored);
    return file ? fail_errno("cannot map the preload arena", code) : std::unexpected(file.error());
  }
  madvise(base, bytes, MADV_DONTDUMP);
  survive_loss_of(base, bytes);
  ArenaFile arena(*path, std::move(directory->lock), std::move(guard), std::move(*file),
                  static_cast<std::byte*>(base), slots);
  ArenaHeader& header = arena.header();
  header.version = kArenaVersion;
  header.state = static_cast<iot_u32>(ArenaState::closed);
  header.clock = static_cast<iot_u32>(clock);
  header.places = kPlaces;
  header.slots = slots;
  header.cells = cells_of(slots);
  header.wanted = wanted;
  header.rings_offset = rings_offset(kPlaces);
  header.ring_stride = ring_stride(slots);
  header.pid_namespace = tasks.pid_namespace();
  header.proc_device = tasks.proc_device();
  header.magic = kArenaMagic;
  return arena;
}

ArenaFile::ArenaFile(ArenaFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)),
      guard_(std::move(other.guard_)), file_(std::move(other.file_)),
      base_(std::exchange(other.base_, nullptr)), made_ns_(other.made_ns_), slots_(other.slots_) {}

ArenaFile::~ArenaFile() {
  if (base_ == nullptr)
    return;
  forget_arena(base_);
  munmap(base_, arena_bytes(slots_));
  std::error_code ignored;
  fs::remove(path_, ignored);
  fs::remove(path_.parent_path(), ignored);
}

std::span<iot_u64> ArenaFile::owners() {
  return {reinterpret_cast<iot_u64*>(base_ + owners_offset()), kPlaces};
}
std::span<ThreadSlot> ArenaFile::places() {
  return {reinterpret_cast<ThreadSlot*>(base_ + places_offset(kPlaces)), kPlaces};
}
std::span<const ThreadSlot> ArenaFile::places() const {
  return {reinterpret_cast<const ThreadSlot*>(base_ + places_offset(kPlaces)), kPlaces};
}

std::byte* ArenaFile::rings(iot_u32 place) {
  return base_ + rings_offset(kPlaces) + place * ring_stride(slots_);
}
std::span<RawRecord> ArenaFile::records(iot_u32 place) {
  return {reinterpret_cast<RawRecord*>(rings(place)), slots_};
}
std::span<std::byte> ArenaFile::text(iot_u32 place) {
  return {rings(place) + text_offset(slots_),
          static_cast<std::size_t>(cells_of(slots_)) * kCellBytes};
}

bool ArenaFile::is_whole() const {
  struct stat attributes{};
  return !is_arena_lost() && fstat(file_.get(), &attributes) == 0 &&
         attributes.st_size == static_cast<off_t>(arena_bytes(slots_));
}

bool ArenaFile::is_removed() const {
  return is_unlinked(file_);
}

// Not through this mapping, which may no longer be shared.
void ArenaFile::abandon() {
  const auto closed = static_cast<iot_u32>(ArenaState::closed);
  if (ftruncate(file_.get(), static_cast<off_t>(arena_bytes(slots_))) != 0 ||
      pwrite(file_.get(), &closed, sizeof(closed), offsetof(ArenaHeader, state)) < 0)
    return;
}

std::size_t ArenaFile::memory_bytes() const {
  struct stat attributes{};
  return fstat(file_.get(), &attributes) == 0
             ? static_cast<std::size_t>(attributes.st_blocks) * kSectorBytes
             : 0;
}

} // namespace iotrail::capture::preload
