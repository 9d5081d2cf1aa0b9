// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/select/named_paths.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "capture/kernel/select/file_filters.hpp"
#include "capture/selection/file_system.hpp"
#include "iotrail.skel.h"

namespace iotrail::capture::kernel {
namespace {

// The kernel's types of handles that have the generation (linux/exportfs.h, fs/xfs/xfs_export.h,
// fs/btrfs/export.h).
constexpr int kInode32AndGeneration = 1;
constexpr int kInode64AndGeneration = 0x81;
constexpr int kBtrfs = 0x4d;

struct Handle {
  file_handle header;
  std::array<unsigned char, MAX_HANDLE_SZ> bytes;
};

iot_u32 word_at(const Handle& handle, std::size_t offset) {
  iot_u32 word = 0;
  std::memcpy(&word, handle.header.f_handle + offset, sizeof(word));
  return word;
}

Result<iot_file_key> directory_key(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return fail_errno("directory " + path);
  return iot_file_key{.inode = status.st_ino, .device = file_system_of(path), .generation = 0};
}

iot_u64 hash_of(iot_u64 seed, std::string_view name) {
  iot_u64 hash = seed;
  for (const char letter : name)
    hash = IOT_NAME_HASH_STEP(hash, letter);
  return hash;
}

} // namespace

iot_u32 generation_of(const std::string& path) {
  Handle handle{};
  int mount = 0;
  handle.header.handle_bytes = MAX_HANDLE_SZ;
  if (::name_to_handle_at(AT_FDCWD, path.c_str(), &handle.header, &mount, AT_SYMLINK_FOLLOW) != 0)
    return 0;
  const unsigned bytes = handle.header.handle_bytes;
  if (handle.header.handle_type == kInode32AndGeneration && bytes == 2 * sizeof(iot_u32))
    return word_at(handle, sizeof(iot_u32)); // tmpfs has three words, in another order
  if (handle.header.handle_type == kInode64AndGeneration && bytes >= 3 * sizeof(iot_u32))
    return word_at(handle, 2 * sizeof(iot_u32));
  if (handle.header.handle_type == kBtrfs && bytes >= 5 * sizeof(iot_u32))
    return word_at(handle, 4 * sizeof(iot_u32));
  return 0;
}

Result<void> NamedPaths::add(const std::string& path) {
  std::error_code code;
  const std::filesystem::path given(path);
  const std::filesystem::path folder =
      std::filesystem::canonical(given.has_parent_path() ? given.parent_path() : ".", code);
  if (code)
    return fail_errno("file " + path, code.value());
  if (auto added = add_one((folder / given.filename()).native()); !added)
    return added;
  if (!std::filesystem::is_symlink(given, code))
    return {};
  const std::filesystem::path target = std::filesystem::canonical(given, code);
  return code ? fail_errno("file " + path, code.value()) : add_one(target.native());
}

Result<void> NamedPaths::add_one(const std::string& path) {
  const auto named = std::make_unique<iot_named_path>();
  if (path.size() >= sizeof(named->path))
    return fail_errno("file " + path, ENAMETOOLONG);
  path.copy(named->path, path.size());
  const iot_u32 number = count_++;
  iot_file_key last_directory{};
  for (std::size_t slash = 0; slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (named->depth == IOT_NAMED_DEPTH)
      return fail(
          "file " + path, "it lies too deep",
          fmt::format("A recording can name files below {} directories at most.", IOT_NAMED_DEPTH));
    const Result<iot_file_key> key = directory_key(slash == 0 ? "/" : path.substr(0, slash));
    if (!key)
      return std::unexpected(key.error());
    last_directory = *key;
    named->begins[named->depth++] = static_cast<iot_u16>(slash + 1);
    const iot_named_directory directory{.inode = key->inode, .device = key->device, .path = number};
    if (auto set = put(object_->map_fd("named_directories"), directory, path, named->depth); !set)
      return set;
  }
  const iot_u64 hash = hash_of(object_->skeleton().rodata->iot_config.name_seed,
                               std::string_view(path).substr(path.rfind('/') + 1));
  const iot_named_entry entry{.inode = last_directory.inode,
                              .name_hash = hash,
                              .device = last_directory.device,
                              .reserved = 0};
  if (auto set = put(object_->map_fd("named_entries"), entry, path); !set)
    return set;
  const int lasts = object_->map_fd("named_lasts");
  bpf_map_lookup_elem(lasts, &hash, &named->next); // none: stays 0
  if (auto set = put(lasts, hash, path, number + 1); !set)
    return set;
  if (bpf_map_update_elem(object_->map_fd("named_paths"), &number, named.get(), BPF_ANY) != 0)
    return fail_errno("filter: file " + path);
  return {};
}

} // namespace iotrail::capture::kernel
