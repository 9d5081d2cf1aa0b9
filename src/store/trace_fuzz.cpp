// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes whole trace directories: the input is a list of edits to the files of a good trace.
// Whatever they are, the reader neither aborts nor returns other rows without counting damage. A
// last edit may seal the manifest anew, as an attacker can.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>

#include "store/format/manifest_text.hpp"
#include "store/reader/repository.hpp"
#include "store/reader/trace_reader.hpp"
#include "store/writer/trace_writer.hpp"

using namespace iotrail;
using namespace iotrail::store;

namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;
using Row = std::vector<std::uint64_t>;

struct Edit {
  std::uint8_t file;
  std::uint8_t action;
  std::uint16_t position;
  std::uint8_t value;
};

// A directory in memory, if the machine has one.
class Scratch {
public:
  Scratch() {
    std::string pattern =
        std::string(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/trace-fuzz-XXXXXX";
    IOTRAIL_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path operator/(std::string_view name) const { return path_ / name; }

private:
  fs::path path_;
};
const Scratch kScratch;

Files read_files(const fs::path& trace) {
  Files files;
  for (const auto& entry : fs::directory_iterator(trace)) {
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

void write_files(const fs::path& trace, const Files& files) {
  fs::remove_all(trace);
  fs::create_directory(trace);
  for (const auto& [name, text] : files)
    std::ofstream(trace / name, std::ios::binary).write(text.data(), std::ssize(text));
}

// Keeps only the part of the schema that the trace uses, so that edits hit meaningful bytes.
void shorten(std::string& manifest) {
  Json json = Json::parse(manifest);
  Json tables = Json::array();
  for (const Json& table : json["schema"])
    if (table["name"] == "syscall_read" || table["name"] == "vfs_write" ||
        table["name"] == "strings")
      tables.push_back(table);
  json["schema"] = tables;
  manifest = sealed_text(json);
}

Files good_trace() {
  const fs::path trace = kScratch / "good.iotrail";
  auto writer = TraceWriter::create(trace, {}, {.block_rows = 20, .segment_bytes = 1000});
  IOTRAIL_CHECK(writer.has_value());
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::array<std::uint64_t, 32> record{};
    auto& event = reinterpret_cast<iot_event&>(record);
    event.kind = schema::find_event(i % 2 == 0 ? "syscall_read" : "vfs_write")->id;
    event.ts_ns = i * i;
    event.pid = static_cast<iot_u32>((*writer)->string_id(std::to_string(i % 7)));
    (*writer)->append(event);
  }
  Manifest manifest;
  IOTRAIL_CHECK((*writer)->finish(manifest).has_value());
  Files files = read_files(trace);
  shorten(files["manifest.json"]);
  return files;
}

void make_edit(const Edit& edit, Files& files) {
  auto file = std::next(files.begin(), edit.file % std::ssize(files));
  std::string& text = file->second;
  const std::size_t at = text.empty() ? 0 : edit.position % text.size();
  switch (edit.action % 7) {
  case 0:
    if (!text.empty())
      text[at] = static_cast<char>(edit.value);
    break;
  case 1:
    text.erase(at, edit.value);
    break;
  case 2:
    text.insert(at, edit.value, 'I');
    break;
  case 3:
    text.resize(at);
    break;
  case 4:
    text.insert(at, text.substr(edit.position % (text.size() + 1), edit.value));
    break;
  case 5:
    text = std::next(files.begin(), edit.value % std::ssize(files))->second;
    break;
  default:
    files["events-0009.seg"] = text;
  }
}

struct Reading {
  bool is_open = false;
  bool is_damaged = false;
  std::map<iot_u16, std::vector<std::vector<Column>>> rows; // by block, for each kind

  bool operator==(const Reading&) const = default;
};

Reading read_all(const fs::path& trace) {
  Reading reading;
  const auto reader = TraceReader::open(trace);
  (void)read_manifest(trace);
  if (!reader)
    return reading;
  reading.is_open = true;
  for (const BlockInfo& block : (*reader)->blocks())
    if (auto columns = (*reader)->read(block))
      reading.rows[block.kind].push_back(std::move(*columns));
  reading.is_damaged = (*reader)->damage().any() || !(*reader)->notices().empty();
  return reading;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Files kGood = good_trace();
  static const Reading kExpected = [] {
    write_files(kScratch / "t.iotrail", kGood);
    return read_all(kScratch / "t.iotrail");
  }();
  IOTRAIL_CHECK(kExpected.is_open && !kExpected.is_damaged);
  ByteReader in(std::as_bytes(std::span(data, size)));
  const bool is_crafted = in.read<std::uint8_t>() % 4 == 0;
  Files files = kGood;
  while (in.remaining() >= sizeof(Edit))
    make_edit(in.read<Edit>(), files);
  std::string& manifest = files["manifest.json"];
  if (const std::size_t seal_bytes = seal("").size(); is_crafted && manifest.size() > seal_bytes)
    manifest = seal(manifest.substr(0, manifest.size() - seal_bytes));
  const fs::path trace = kScratch / "t.iotrail";
  write_files(trace, files);
  const Reading reading = read_all(trace);
  IOTRAIL_CHECK(is_crafted || !reading.is_open || reading.is_damaged || reading == kExpected);
  (void)tag_trace(trace, "name", "value");
  (void)remove_trace(trace, false);
  return 0;
}
