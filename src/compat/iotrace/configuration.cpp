// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/configuration.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include "base/fd.hpp"

namespace iotrail::compat::iotrace {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestFile = 64U << 10U;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::unexpected<Error> damaged(const fs::path& path, std::string why) {
  return fail(fmt::format("cannot read the configuration {}", path.native()), std::move(why),
              "Remove the file, or mend it: {\"paths\":{\"trace\":\"/DIRECTORY\"}}.");
}

// An empty object: there is no file.
Result<Json> read_configuration(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && errno == ENOENT)
    return Json::object();
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0)
    return fail_errno(fmt::format("cannot read the configuration {}", path.native()));
  if (!S_ISREG(status.st_mode) || static_cast<std::size_t>(status.st_size) > kLongestFile)
    return damaged(path, "it is no small file");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t bytes = ::pread(fd.get(), text.data(), text.size(), 0);
  if (bytes < 0)
    return fail_errno(fmt::format("cannot read the configuration {}", path.native()));
  text.resize(static_cast<std::size_t>(bytes));
  Json json = Json::parse(text, nullptr, false);
  const bool is_usable = json.is_object() &&
                         (!json.contains("paths") || json["paths"].is_object()) &&
                         (!json.contains("/paths/trace"_json_pointer) ||
                          json["/paths/trace"_json_pointer].is_string());
  if (!is_usable)
    return damaged(path, "it is not JSON of the known form");
  return json;
}

Result<void> replace_file(const fs::path& path, const std::string& text) {
  const std::string what = fmt::format("cannot write the configuration {}", path.native());
  std::error_code refused;
  fs::create_directories(path.parent_path(), refused);
  if (refused)
    return fail_errno(what, refused.value());
  std::string next = path.native() + ".XXXXXX";
  const Fd fd(::mkostemp(next.data(), O_CLOEXEC));
  if (!fd)
    return fail_errno(what);
  const bool is_written = ::write(fd.get(), text.data(), text.size()) == std::ssize(text) &&
                          ::fchmod(fd.get(), 0644) == 0 && ::fsync(fd.get()) == 0 &&
                          ::rename(next.c_str(), path.c_str()) == 0;
  if (is_written)
    return {};
  const int code = errno == 0 ? ENOSPC : errno;
  ::unlink(next.c_str());
  return fail_errno(what, code);
}

} // namespace

fs::path configuration_path() {
  const std::string home = variable("HOME");
  const std::string configured = variable("XDG_CONFIG_HOME");
  const fs::path directory = configured.starts_with('/') ? configured
                             : home.empty()              ? "/etc"
                                                         : home + "/.config";
  return directory / "iotrail" / "iotrace.conf";
}

Result<void> use_repository() {
  const auto json = read_configuration(configuration_path());
  if (!json)
    return std::unexpected(json.error());
  const std::string directory = json->value("/paths/trace"_json_pointer, "");
  if (directory.empty())
    return {};
  if (!directory.starts_with('/'))
    return damaged(configuration_path(), "paths.trace is not an absolute path");
  ::setenv("IOTRAIL_REPOSITORY", directory.c_str(), 1);
  return {};
}

Result<void> set_repository(const fs::path& directory) {
  std::error_code refused;
  const fs::path absolute = fs::canonical(directory, refused);
  if (refused)
    return fail_errno(fmt::format("cannot use the trace repository {}", directory.native()),
                      refused.value(), "Make the directory first.");
  if (!fs::is_directory(absolute, refused))
    return fail(fmt::format("cannot use the trace repository {}", directory.native()),
                "it is not a directory");
  auto json = read_configuration(configuration_path());
  if (!json)
    return std::unexpected(json.error());
  (*json)["paths"]["trace"] = absolute.native();
  try {
    return replace_file(configuration_path(), json->dump(1, ' ', true) + "\n");
  } catch (const Json::type_error&) {
    return fail(fmt::format("cannot use the trace repository {}", directory.native()),
                "its name is not UTF-8");
  }
}

} // namespace iotrail::compat::iotrace
