// SPDX-License-Identifier: BSD-3-Clause
#include "import/import.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/ranges.h>

#include "store/writer/temporary_files.hpp"

namespace iotrail::import {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesMost = 4096;

struct NamedFile {
  std::string path;
  bool is_of_directory; // the user named its directory
};

Result<void> add_directory(const std::string& path, std::vector<NamedFile>& files) {
  std::error_code error;
  fs::recursive_directory_iterator entries(path, error);
  for (const fs::recursive_directory_iterator end; !error && entries != end;
       entries.increment(error)) {
    std::error_code ignored;
    if (!entries->is_regular_file(ignored) || entries->is_symlink(ignored))
      continue;
    if (files.size() == kFilesMost)
      return fail(fmt::format("cannot import {}", path),
                  fmt::format("it has more than {} files", kFilesMost),
                  "Import its parts one by one.");
    files.push_back({entries->path().string(), true});
  }
  if (error)
    return fail_errno(fmt::format("cannot read {}", path), error.value());
  return {};
}

Result<std::vector<NamedFile>> named_files(const ImportRequest& request) {
  std::vector<NamedFile> files;
  for (const std::string& path : request.files) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      files.push_back({path, false});
      continue;
    }
    const std::size_t first = files.size();
    if (auto added = add_directory(path, files); !added)
      return std::unexpected(added.error());
    if (files.size() == first)
      return fail(fmt::format("cannot import {}", path), "the directory has no files");
    std::ranges::sort(files.begin() + static_cast<std::ptrdiff_t>(first), files.end(), {},
                      &NamedFile::path);
  }
  return files;
}

bool has_format(const ImportFormat& format, const Input& input) {
  return format.recognizes != nullptr && format.recognizes(input.head(), input.path());
}

const ImportFormat* format_of(const Input& input, std::span<const ImportFormat* const> formats) {
  const auto found = std::ranges::find_if(
      formats, [&](const ImportFormat* format) { return has_format(*format, input); });
  return found == formats.end() ? nullptr : *found;
}

std::unexpected<Error> unknown_format(const std::string& path,
                                      std::span<const ImportFormat* const> formats) {
  std::vector<std::string_view> names;
  for (const ImportFormat* format : formats)
    names.push_back(format->name);
  return fail(fmt::format("cannot import {}", path), "its content has none of the known formats",
              fmt::format("--from names the format: {}", fmt::join(names, ", ")));
}

// The inputs of one format. Files of directories may have another one.
Result<std::vector<Input>> open_inputs(const ImportRequest& request,
                                       std::span<const ImportFormat* const> formats,
                                       ImportOutcome& outcome) {
  const auto files = named_files(request);
  if (!files)
    return std::unexpected(files.error());
  outcome.format = request.format;
  std::vector<Input> inputs;
  for (const NamedFile& file : *files) {
    auto input = Input::open(file.path);
    if (!input)
      return std::unexpected(input.error());
    if (outcome.format == nullptr)
      outcome.format = format_of(*input, formats);
    const bool is_known =
        outcome.format != nullptr && (has_format(*outcome.format, *input) ||
                                      (request.format != nullptr && !file.is_of_directory));
    if (is_known)
      inputs.push_back(std::move(*input));
    else if (file.is_of_directory || input->head().empty())
      outcome.other_files.push_back(file.path);
    else if (outcome.format == nullptr)
      return unknown_format(file.path, formats);
    else
      return fail(fmt::format("cannot import {}", file.path),
                  fmt::format("its content is not {}, as before it", outcome.format->name),
                  "Import files of each format into a trace of their own.");
  }
  if (inputs.empty())
    return unknown_format(request.files.empty() ? "" : request.files.front(), formats);
  outcome.files = inputs.size();
  return inputs;
}

store::Manifest new_manifest(const ImportRequest& request, const ImportFormat& format) {
  store::Manifest manifest;
  manifest.iotrail_version = IOTRAIL_VERSION;
  manifest.tags["import.format"] = format.name;
  manifest.tags["import.files"] = fmt::format("{}", fmt::join(request.files, " ")).substr(0, 4096);
  return manifest;
}

Result<void> fill(store::TraceWriter& writer, std::vector<Input>& inputs, ImportOutcome& outcome) {
  TraceBuilder builder(writer);
  auto read = outcome.format->read(inputs, builder);
  if (!read)
    return read;
  outcome.malformed = builder.malformed_count();
  outcome.malformed_named = builder.malformed_named();
  outcome.left_out = builder.left_out();
  if (builder.events() == 0)
    return fail(fmt::format("cannot import {}", inputs.front().path()),
                outcome.malformed_named.empty()
                    ? fmt::format("{} found no event in it", outcome.format->name)
                    : fmt::format("not one record of it is {}; {}", outcome.format->name,
                                  outcome.malformed_named.front()));
  builder.add_losses();
  builder.describe(outcome.manifest, outcome.format->name);
  outcome.manifest.stop_reason = "imported";
  return writer.finish(outcome.manifest);
}

} // namespace

Result<ImportOutcome> import_trace(const ImportRequest& request,
                                   std::span<const ImportFormat* const> formats) {
  ImportOutcome outcome;
  auto inputs = open_inputs(request, formats, outcome);
  if (!inputs)
    return std::unexpected(inputs.error());
  outcome.manifest = new_manifest(request, *outcome.format);
  const store::TemporaryFiles made;
  std::unique_ptr<store::TraceWriter> writer;
  std::optional<Error> refused;
  (void)made.make_tree([&]() -> fs::path {
    auto created = store::TraceWriter::create(request.trace, outcome.manifest);
    if (created)
      writer = std::move(*created);
    else
      refused = created.error();
    return writer ? request.trace : fs::path();
  });
  if (!writer)
    return std::unexpected(refused ? *refused
                                   : Error{fmt::format("cannot write {}", request.trace.native()),
                                           "a signal interrupted it", "", 0});
  if (auto filled = fill(*writer, *inputs, outcome); !filled)
    return std::unexpected(filled.error());
  made.keep();
  return outcome;
}

} // namespace iotrail::import
