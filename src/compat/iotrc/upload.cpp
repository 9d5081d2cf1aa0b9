// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrc/upload.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "base/fd.hpp"
#include "serve/client/http_upload.hpp"

namespace iotrail::compat::iotrc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPartSuffix = ".part";
constexpr std::size_t kUrlsMost = 1U << 20U;

std::unexpected<Error> failed(const fs::path& file, const std::error_code& error) {
  return fail_errno(fmt::format("cannot upload {}", file.native()), error.value());
}

Result<void> copy_one(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::path part = to;
  part += kPartSuffix;
  fs::create_directories(to.parent_path(), error);
  if (!error)
    fs::copy_file(from, part, fs::copy_options::overwrite_existing, error);
  if (error)
    return failed(to, error);
  const Fd file(::open(part.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0)
    return fail_errno(fmt::format("cannot upload {}", to.native()));
  fs::rename(part, to, error);
  return error ? failed(to, error) : Result<void>();
}

bool is_there(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const auto size = fs::file_size(to, error);
  return !error && size == fs::file_size(from, error) && !error;
}

// The files of the tree, relative to the directory, in the order of their names. Links are none:
// they may lead out of it.
Result<std::vector<fs::path>> files_of(const fs::path& directory, const fs::path& session) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory / session, error), end; !error && it != end;
       it.increment(error))
    if (std::error_code unknown; fs::is_regular_file(it->symlink_status(unknown)))
      files.push_back(it->path().lexically_relative(directory));
  if (error)
    return failed(directory / session, error);
  std::ranges::sort(files);
  return files;
}

Result<std::uint64_t> copy_files(const fs::path& directory, const std::vector<fs::path>& files,
                                 const fs::path& to) {
  std::uint64_t copied = 0;
  for (const fs::path& file : files) {
    if (is_there(directory / file, to / file))
      continue;
    if (auto done = copy_one(directory / file, to / file); !done)
      return std::unexpected(done.error());
    ++copied;
  }
  return copied;
}

// Each address is one of a file: curl would add a name of its own to a directory.
Result<void> check_address(const std::string& option, const std::string& url) {
  if (auto checked = serve::check_http_url(option, url); !checked)
    return checked;
  const std::string shown = serve::shown_url(url);
  if (shown.ends_with('/') || !shown.substr(shown.find("//") + 2).contains('/'))
    return fail_usage(option, fmt::format("'{}' is no address of a file", shown),
                      "Each line is the address of one file.");
  return {};
}

// An address a line. Empty lines do not count.
Result<std::vector<std::string>> read_urls(const std::string& path) {
  const std::string option = "--upload-urls " + path;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return fail_errno(option, error ? error.value() : ENOENT);
  if (!fs::is_regular_file(status))
    return fail_usage(option, "it is no regular file",
                      "It is read before the recording and after it.");
  std::ifstream file(path);
  if (!file)
    return fail_errno(option);
  std::vector<std::string> urls;
  for (std::string line; std::getline(file, line) && urls.size() < kUrlsMost;) {
    if (line.ends_with('\r'))
      line.pop_back();
    if (line.empty())
      continue;
    if (auto checked = check_address(option, line); !checked)
      return std::unexpected(checked.error());
    urls.push_back(line);
  }
  if (file.bad())
    return fail_errno(option, EIO);
  if (urls.empty())
    return fail_usage(option, "it has no address", "Write one on each line.");
  return urls;
}

// The list of files that servers have: a line each, its size, its target and its name. A last line
// without an end is torn: the disk was full.
class UploadedList {
public:
  static Result<UploadedList> open(const fs::path& path, const std::string& target) {
    UploadedList list;
    list.path_ = path;
    list.file_ = Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
    if (!list.file_)
      return fail_errno(fmt::format("cannot write {}", path.native()));
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::size_t whole = text.rfind('\n') + 1; // 0: no line
    if (::ftruncate(list.file_.get(), static_cast<off_t>(whole)) != 0)
      return fail_errno(fmt::format("cannot write {}", path.native()));
    std::istringstream lines(text.substr(0, whole));
    for (std::string line; std::getline(lines, line);)
      if (is_of(line, target))
        list.lines_.push_back(line);
    return list;
  }
  bool has(const std::string& line) const {
    return std::ranges::find(lines_, line) != lines_.end();
  }
  std::size_t size() const { return lines_.size(); }
  Result<void> add(const std::string& line) {
    const std::string text = line + '\n';
    if (::write(file_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        ::fsync(file_.get()) != 0)
      return fail_errno(fmt::format("cannot write {}", path_.native()));
    lines_.push_back(line);
    return {};
  }

private:
  static bool is_of(std::string_view line, std::string_view target) {
    line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
    return line.starts_with(target) && line.substr(target.size()).starts_with(' ');
  }

  fs::path path_;
  Fd file_;
  std::vector<std::string> lines_; // of the target
};

// In the list: a prefix without what may be secret or differ, or the addresses of a list.
std::string name_of(const UploadTarget& target) {
  if (!target.urls_file.empty())
    return "urls";
  std::string name = serve::shown_url(target.where);
  while (name.ends_with('/'))
    name.pop_back();
  return name;
}

Result<std::uint64_t> send_files(const fs::path& directory, const fs::path& session,
                                 const std::vector<fs::path>& files, const UploadTarget& target) {
  std::vector<std::string> urls;
  if (!target.urls_file.empty()) {
    auto read = read_urls(target.urls_file);
    if (!read)
      return std::unexpected(read.error());
    urls = std::move(*read);
  }
  const std::string name = name_of(target);
  auto list = UploadedList::open((directory / session).native() + ".uploaded", name);
  if (!list)
    return std::unexpected(list.error());
  std::uint64_t sent = 0;
  for (const fs::path& file : files) {
    std::error_code error;
    const std::string line =
        fmt::format("{} {} {}", fs::file_size(directory / file, error), name, file.native());
    if (list->has(line))
      continue;
    if (!target.urls_file.empty() && list->size() >= urls.size())
      return fail(fmt::format("cannot upload {}", file.native()),
                  fmt::format("{} has {} addresses, and the tree {} files", target.urls_file,
                              urls.size(), files.size()));
    auto done =
        serve::send_file({.url = target.urls_file.empty() ? serve::url_below(target.where, file)
                                                          : urls[list->size()],
                          .file = directory / file,
                          .retries = target.retries});
    if (done)
      done = list->add(line);
    if (!done)
      return std::unexpected(done.error());
    ++sent;
  }
  return sent;
}

} // namespace

Result<void> check_directory(std::string_view what, const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return fail_errno(fmt::format("{} {}", what, path.native()), error ? error.value() : ENOTDIR,
                      "Make the directory first.");
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    return fail_errno(fmt::format("{} {}", what, path.native()));
  return {};
}

Result<void> check_upload(const UploadTarget& target) {
  if (!target.where.empty() && !target.urls_file.empty())
    return fail_usage("--upload and --upload-urls exclude each other");
  if (!target.urls_file.empty()) {
    const auto urls = read_urls(target.urls_file);
    return urls ? Result<void>() : std::unexpected(urls.error());
  }
  if (target.where.contains("://"))
    return serve::check_http_url("--upload", target.where);
  return target.where.empty() ? Result<void>() : check_directory("--upload", target.where);
}

Result<std::uint64_t> upload_tree(const fs::path& directory, const fs::path& session,
                                  const UploadTarget& target) {
  const auto files = files_of(directory, session);
  if (!files)
    return std::unexpected(files.error());
  const bool is_server = !target.urls_file.empty() || serve::is_http_url(target.where);
  return is_server ? send_files(directory, session, *files, target)
                   : copy_files(directory, *files, target.where);
}

} // namespace iotrail::compat::iotrc
