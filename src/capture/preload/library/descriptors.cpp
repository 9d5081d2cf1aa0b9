// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/descriptors.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "capture/preload/library/path_room.hpp"
#include "capture/preload/library/vfork_children.hpp"
#include "capture/preload/shared/descriptor_link.hpp"
#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

constinit iot_u32* g_descriptors = nullptr;

namespace {

iot_u32 g_highest = 0; // no larger descriptor was ever entered

struct FileIdentity {
  iot_u64 inode;
  iot_u32 device;
  iot_u32 generation;
};

// Files that this process has announced to the collector, so that opening one again costs no
// message. An entry is written under an odd version and read between two equal even ones; a reader
// that finds it busy ignores it.
struct CachedFile {
  iot_u32 version;
  iot_u32 number;
  FileIdentity identity;
};
constexpr iot_u32 kKnownFiles = 4096;
CachedFile g_known[kKnownFiles];

CachedFile& known_entry(const FileIdentity& identity) {
  const iot_u64 mixed =
      (identity.inode ^ (static_cast<iot_u64>(identity.device) << 40U) ^ identity.generation) *
      0x9e3779b97f4a7c15ULL;
  return g_known[mixed >> 52U];
}
static_assert(kKnownFiles == 1U << 12U, "the hash yields 12 bits");

bool same(const FileIdentity& a, const FileIdentity& b) {
  return a.inode == b.inode && a.device == b.device && a.generation == b.generation;
}

iot_u32 find_known(const FileIdentity& identity) {
  const CachedFile& entry = known_entry(identity);
  const iot_u32 before = __atomic_load_n(&entry.version, __ATOMIC_ACQUIRE);
  if ((before & 1U) != 0 || !same(entry.identity, identity))
    return 0;
  const iot_u32 number = entry.number;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&entry.version, __ATOMIC_RELAXED) == before ? number : 0;
}

void add_known(const FileIdentity& identity, iot_u32 number) {
  CachedFile& entry = known_entry(identity);
  iot_u32 version = __atomic_load_n(&entry.version, __ATOMIC_RELAXED);
  if ((version & 1U) != 0 ||
      !__atomic_compare_exchange_n(&entry.version, &version, version + 1, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED))
    return;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  entry.identity = identity;
  entry.number = number;
  __atomic_store_n(&entry.version, version + 2, __ATOMIC_RELEASE);
}

FileIdentity identify(int fd, const struct stat& attributes) {
  FileIdentity identity{attributes.st_ino,
                        major(attributes.st_dev) << 20U | minor(attributes.st_dev), 0};
  if (S_ISREG(attributes.st_mode) || S_ISDIR(attributes.st_mode)) {
    iot_u64 generation = 0; // some file systems write a long, some an int
    if (raw_syscall(SYS_ioctl, fd, static_cast<long>(FS_IOC_GETVERSION), address(&generation)) == 0)
      identity.generation = static_cast<iot_u32>(generation);
  }
  return identity;
}

// 0: there are too many files, or no room to announce this one.
iot_u32 announce(const FileIdentity& identity, iot_u32 mode, const Bytes& path) {
  const iot_u32 number = __atomic_fetch_add(&g_recording.arena->next_file, 1, __ATOMIC_RELAXED) + 1;
  if (number >= kFileLimit) {
    __atomic_store_n(&g_recording.arena->next_file, kFileLimit, __ATOMIC_RELAXED);
    __atomic_fetch_add(&g_recording.arena->text_full, 1, __ATOMIC_RELAXED);
    return 0;
  }
  TextHeader header{};
  header.kind = static_cast<iot_u16>(TextKind::file);
  header.number = number;
  header.device = identity.device;
  header.generation = identity.generation;
  header.mode = mode;
  header.inode = identity.inode;
  return send_text(header, &path, 1) != 0 ? number : 0;
}

iot_u32 announce_descriptor(int fd, const FileIdentity& identity, iot_u32 mode) {
  const DescriptorLink link(fd);
  PathRoom room;
  iot_u32 size = 0;
  const char* const path = room.filled_by(
      [&link](char* to, iot_u32 bytes) {
        const long read = raw_syscall(SYS_readlinkat, AT_FDCWD, address(link.text), address(to),
                                      static_cast<long>(bytes));
        return read > 0 ? static_cast<iot_u32>(read) : 0;
      },
      &size);
  return announce(identity, mode, {path, path != nullptr ? size : 0});
}

// The number of the descriptor's file; 0: none, or no room to announce it.
iot_u32 describe(int fd) {
  struct stat attributes{};
  if (g_recording.arena != nullptr && is_confined())
    __atomic_fetch_add(&g_recording.arena->text_full, 1, __ATOMIC_RELAXED);
  if (g_recording.arena == nullptr || raw_syscall(SYS_fstat, fd, address(&attributes)) != 0)
    return 0;
  const FileIdentity identity = identify(fd, attributes);
  if (const iot_u32 number = find_known(identity); number != 0)
    return number;
  const iot_u32 number = announce_descriptor(fd, identity, attributes.st_mode);
  if (number != 0)
    add_known(identity, number);
  return number;
}

bool make_table() {
  const long at = raw_syscall(SYS_mmap, 0, kDescriptors * sizeof(iot_u32), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!is_address(at))
    return false;
  iot_u32* expected = nullptr;
  if (!__atomic_compare_exchange_n(&g_descriptors, &expected, pointer<iot_u32>(at), false,
                                   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    raw_syscall(SYS_munmap, at, kDescriptors * sizeof(iot_u32));
  return true;
}

} // namespace

iot_u32 known_file(int fd) {
  const auto index = static_cast<iot_u32>(fd);
  if (g_descriptors == nullptr || index >= kDescriptors || has_other_descriptors())
    return 0;
  return __atomic_load_n(&g_descriptors[index], __ATOMIC_RELAXED);
}

void set_file(int fd, iot_u32 file) {
  const auto index = static_cast<iot_u32>(fd);
  if (g_descriptors == nullptr || index >= kDescriptors || has_other_descriptors())
    return;
  __atomic_store_n(&g_descriptors[index], file, __ATOMIC_RELAXED);
  iot_u32 highest = __atomic_load_n(&g_highest, __ATOMIC_RELAXED);
  while (file != 0 && highest < index &&
         !__atomic_compare_exchange_n(&g_highest, &highest, index, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
}

void forget_files(iot_u32 first, iot_u32 last) {
  if (g_descriptors == nullptr || has_other_descriptors())
    return;
  const iot_u32 highest = __atomic_load_n(&g_highest, __ATOMIC_RELAXED);
  for (iot_u32 index = first; index <= last && index <= highest; ++index)
    __atomic_store_n(&g_descriptors[index], 0, __ATOMIC_RELAXED);
}

iot_u32 file_of_slowly(int fd) {
  Context* const context = fd >= 0 ? claim() : nullptr;
  if (context == nullptr || (g_descriptors == nullptr && !make_table()))
    return 0;
  use_descriptors(*context);
  if (const iot_u32 file = known_file(fd); file != 0)
    return file;
  return file_of_new(fd);
}

// Forked children know the number, which belongs to the arena.
iot_u32 memory_file() {
  static iot_u32 known = 0;
  constexpr char kName[] = "memory:[stream]";
  iot_u32 number = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (number == 0 && claim() != nullptr) {
    number = announce({}, 0, {kName, sizeof(kName) - 1});
    __atomic_store_n(&known, number, __ATOMIC_RELAXED);
  }
  return number;
}

iot_u32 file_of_new(int fd) {
  if (claim() == nullptr || (g_descriptors == nullptr && !make_table()))
    return 0;
  const iot_u32 file = describe(fd);
  set_file(fd, file);
  return file;
}

} // namespace iotrail::capture::preload
