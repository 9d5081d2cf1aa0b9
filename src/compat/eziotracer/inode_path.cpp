// SPDX-License-Identifier: BSD-3-Clause
#include "compat/eziotracer/inode_path.hpp"

#include <sys/stat.h>

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace iotrail::compat::eziotracer {
namespace {

namespace fs = std::filesystem;

// A walk of more files takes longer than a user expects of an option.
constexpr std::size_t kMostFiles = 1'000'000;

std::optional<Node> node_at(const fs::path& path, bool is_directory) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode) != is_directory)
    return std::nullopt;
  std::error_code error;
  fs::path whole = fs::canonical(path, error);
  if (error)
    return std::nullopt;
  return Node{.path = std::move(whole), .inode = status.st_ino};
}

std::optional<Node> find_above(const fs::path& folder, ino_t inode) {
  for (fs::path path = folder; path.has_relative_path(); path = path.parent_path())
    if (const auto node = node_at(path, true); node && node->inode == inode)
      return node;
  const auto root = node_at("/", true);
  return root && root->inode == inode ? root : std::nullopt;
}

std::optional<Node> find_below(const fs::path& folder, ino_t inode, bool is_directory) {
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied,
                                           error);
  std::size_t seen = 0;
  while (!error && entries != fs::recursive_directory_iterator() && ++seen <= kMostFiles) {
    if (const auto node = node_at(entries->path(), is_directory); node && node->inode == inode)
      return node;
    entries.increment(error);
  }
  return std::nullopt;
}

std::optional<ino_t> number_of(const std::string& text) {
  ino_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, code] = std::from_chars(text.data(), end, number);
  return code == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

} // namespace

Result<Node> find_node(const std::string& text, bool is_directory) {
  const char* const kind = is_directory ? "directory" : "file";
  const std::optional<ino_t> inode = number_of(text);
  if (!inode) {
    struct stat status{};
    if (::stat(text.c_str(), &status) != 0)
      return fail_errno(fmt::format("-i {}", text));
    std::error_code error;
    const fs::path whole = fs::canonical(text, error);
    auto node = error ? std::nullopt : node_at(whole, is_directory);
    if (!node)
      return fail(fmt::format("-i {}", text), fmt::format("it is no {}", kind),
                  is_directory ? "-f is for a file." : "-d is for the files of a directory.");
    return *node;
  }
  std::error_code error;
  const fs::path here = fs::current_path(error);
  auto node = is_directory ? find_above(here, *inode) : std::nullopt;
  if (!node)
    node = find_below(here, *inode, is_directory);
  if (!node)
    return fail(fmt::format("-i {}: no {} with this inode number is in {}, or below it", text, kind,
                            here.native()),
                {},
                fmt::format("Start it in that directory, or give -i the path of the {}.", kind));
  return *node;
}

} // namespace iotrail::compat::eziotracer
