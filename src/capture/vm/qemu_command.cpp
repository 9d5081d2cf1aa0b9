// SPDX-License-Identifier: BSD-3-Clause
#include "capture/vm/qemu_command.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace iotrail::capture::vm {
namespace {

using Options = nlohmann::json; // an object

constexpr std::size_t kOptionBytesMost = 64U << 10U;
constexpr std::size_t kImagesMost = 256;
constexpr std::uint32_t kDepthMost = 64; // of nodes; a forged command line may have a loop

// Nodes of QEMU that pass requests on unchanged.
constexpr std::string_view kFilters[] = {"blkdebug", "compress", "copy-on-read", "preallocate",
                                         "throttle"};
constexpr std::string_view kProtocols[] = {"file", "host_cdrom", "host_device"};

bool is_one_of(std::string_view text, const auto& names) {
  return std::ranges::find(names, text) != std::end(names);
}

const Options& member(const Options& options, const char* key) {
  static const Options kNone;
  if (!options.is_object())
    return kNone;
  const auto found = options.find(key);
  return found == options.end() ? kNone : *found;
}

std::string text_of_option(const Options& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string text_of_option(const Options& options, const char* key) {
  return text_of_option(member(options, key));
}

// Nothing for what is no plain number, such as "1M".
std::optional<std::uint64_t> number_of_option(const Options& value) {
  if (value.is_null())
    return 0;
  if (value.is_number_unsigned())
    return value.get<std::uint64_t>();
  const std::string text = text_of_option(value);
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

// Sets "file.filename" in the member "file". A member that is already a text is the name of a file:
// "file=a,file.locking=off".
void set_option(Options& options, std::string_view key, std::string value) {
  Options* at = &options;
  for (std::size_t depth = 0; depth < kDepthMost; ++depth) {
    const std::size_t dot = key.find('.');
    Options& next = (*at)[std::string(key.substr(0, dot))];
    if (dot == key.npos) {
      next = std::move(value);
      return;
    }
    if (next.is_string())
      next = Options{{"filename", next}};
    else if (!next.is_object())
      next = Options::object();
    at = &next;
    key.remove_prefix(dot + 1);
  }
}

// "a=1,b.c=x,,y": a double comma stands for one. `first` is the key of a first word without one.
Options parse_pairs(std::string_view text, std::string_view first) {
  Options options = Options::object();
  bool is_first = true;
  while (!text.empty()) {
    std::string word;
    std::size_t at = 0;
    for (; at < text.size() && (text[at] != ',' || text.substr(at, 2) == ",,"); ++at) {
      word += text[at];
      at += text[at] == ',' ? 1U : 0U;
    }
    text.remove_prefix(std::min(at + 1, text.size()));
    const std::size_t equals = word.find('=');
    if (equals != word.npos)
      set_option(options, std::string_view(word).substr(0, equals), word.substr(equals + 1));
    else if (is_first)
      set_option(options, first, word);
    is_first = false;
  }
  return options;
}

Options parse_options(std::string_view text, std::string_view first) {
  if (text.size() > kOptionBytesMost)
    return Options::object();
  if (!text.starts_with('{'))
    return parse_pairs(text, first);
  Options options = Options::parse(text, nullptr, false);
  return options.is_object() ? options : Options::object();
}

// Finds the images in the options of all drives, nodes and devices.
class Drives {
public:
  explicit Drives(QemuCommand& command) : command_(command) {}

  void add_node(Options node) {
    const std::string name = text_of_option(node, "node-name");
    if (!name.empty())
      nodes_[name] = std::move(node);
  }
  void add_device(const Options& device) {
    const std::string drive = text_of_option(device, "drive");
    if (!drive.empty() && devices_.size() < kImagesMost)
      devices_.emplace_back(drive, text_of_option(device, "id"));
  }
  void add_drive(Options drive) {
    if (!drive.contains("driver"))
      drive["driver"] = text_of_option(drive, "format");
    drives_.push_back(std::move(drive));
  }
  void find_images();

private:
  std::string name_of_drive(const Options& drive);
  void walk(const Options& node, const std::string& drive, std::uint32_t depth, std::uint32_t left);
  std::string file_of(const Options& node, std::uint32_t left) const;
  const Options& resolved(const Options& node);
  std::set<std::string> referenced() const;

  QemuCommand& command_;
  std::map<std::string, Options> nodes_;
  std::set<std::string> visited_;
  std::vector<std::pair<std::string, std::string>> devices_; // drive or node, id of the device
  std::vector<Options> drives_;
  std::map<std::string, int> unnamed_; // drives by interface
};

// A node by its name, or as it is.
const Options& Drives::resolved(const Options& node) {
  const auto named = nodes_.find(text_of_option(node));
  if (named == nodes_.end())
    return node;
  visited_.insert(named->first);
  return named->second;
}

std::string Drives::file_of(const Options& node, std::uint32_t left) const {
  if (left == 0)
    return {};
  if (node.is_string()) {
    const auto named = nodes_.find(text_of_option(node));
    return named == nodes_.end() ? path_of_image(text_of_option(node))
                                 : file_of(named->second, left - 1);
  }
  if (std::string name = text_of_option(node, "filename"); !name.empty())
    return path_of_image(name);
  const Options& below = member(node, "file");
  return below.is_null() ? std::string() : file_of(below, left - 1);
}

void Drives::walk(const Options& node, const std::string& drive, std::uint32_t depth,
                  std::uint32_t left) {
  const Options& here = resolved(node);
  if (left == 0 || command_.images.size() >= kImagesMost || !here.is_object())
    return;
  std::string driver = text_of_option(here, "driver");
  if (is_one_of(driver, kFilters))
    return walk(member(here, "file"), drive, depth, left - 1);
  if (is_one_of(driver, kProtocols))
    driver = "raw"; // the guest has the file as it is
  const auto offset = number_of_option(member(here, "offset"));
  const std::string file = file_of(here, kDepthMost);
  if (!file.empty())
    command_.images.push_back({.drive = drive,
                               .depth = depth,
                               .file = file,
                               .format = offset ? driver : "raw with an offset",
                               .offset = offset.value_or(0)});
  if (const Options& backing = member(here, "backing"); !backing.is_null())
    walk(backing, drive, depth + 1, left - 1);
}

// As QEMU names a drive without an id: "virtio0".
std::string Drives::name_of_drive(const Options& drive) {
  const std::string id = text_of_option(drive, "id");
  for (const auto& [node, device] : devices_)
    if (!id.empty() && node == id && !device.empty())
      return device;
  if (!id.empty())
    return id;
  std::string interface = text_of_option(drive, "if");
  if (interface.empty())
    interface = "ide";
  const auto index = number_of_option(member(drive, "index"));
  const int count = unnamed_[interface]++;
  return fmt::format("{}{}", interface,
                     drive.contains("index") && index ? *index : static_cast<std::uint64_t>(count));
}

// The nodes that another node uses.
std::set<std::string> Drives::referenced() const {
  std::set<std::string> names;
  for (const auto& [name, node] : nodes_)
    for (const char* key : {"file", "backing"})
      names.insert(text_of_option(node, key));
  return names;
}

void Drives::find_images() {
  for (const Options& drive : drives_)
    walk(drive, name_of_drive(drive), 0, kDepthMost);
  for (const auto& [node, device] : devices_)
    if (nodes_.contains(node))
      walk(node, device.empty() ? node : device, 0, kDepthMost);
  const std::set<std::string> used = referenced();
  for (const auto& [name, node] : nodes_) // such as the firmware's variables
    if (!visited_.contains(name) && !used.contains(name))
      walk(node, name, 0, kDepthMost);
}

bool is_short_drive(std::string_view option) {
  static constexpr std::string_view kShort[] = {"hda", "hdb",      "hdc",    "hdd", "cdrom",
                                                "fda", "mtdblock", "pflash", "sd",  "fdb"};
  return is_one_of(option, kShort);
}

void add_descriptor(const Options& options, QemuCommand& command) {
  const auto fd = number_of_option(member(options, "fd"));
  const std::string set = text_of_option(options, "set");
  if (fd && *fd <= INT32_MAX && !set.empty() && command.descriptors.size() < kImagesMost)
    command.descriptors.try_emplace("/dev/fdset/" + set, static_cast<int>(*fd));
}

void add_option(std::string_view option, const std::string& value, QemuCommand& command,
                Drives& drives) {
  if (option == "name")
    command.name = text_of_option(parse_options(value, "guest"), "guest");
  else if (option == "blockdev")
    drives.add_node(parse_options(value, "driver"));
  else if (option == "drive")
    drives.add_drive(parse_options(value, "file"));
  else if (option == "device")
    drives.add_device(parse_options(value, "driver"));
  else if (option == "add-fd")
    add_descriptor(parse_options(value, "fd"), command);
  else if (is_short_drive(option))
    drives.add_drive({{"file", value}, {"id", option}});
}

// A word after another that is no option: the image of the first disk, as in `qemu-system-x86_64
// disk.img`.
bool is_bare_image(const std::vector<std::string>& words, std::size_t at) {
  return !words[at].empty() && !words[at].starts_with('-') &&
         (at == 1 || !words[at - 1].starts_with('-'));
}

} // namespace

std::string path_of_image(std::string_view name) {
  if (name.starts_with("file:"))
    return std::string(name.substr(5));
  if (!name.starts_with("json:"))
    return std::string(name);
  Options node = parse_options(name.substr(5), "filename");
  for (std::uint32_t left = kDepthMost; left > 0 && node.is_object(); --left) {
    if (std::string file = text_of_option(node, "filename"); !file.empty())
      return file;
    if (std::string file = text_of_option(node, "file.filename"); !file.empty())
      return file;
    node = Options(member(node, "file"));
  }
  return {};
}

QemuCommand parse_qemu_command(const std::vector<std::string>& words) {
  QemuCommand command;
  Drives drives(command);
  for (std::size_t at = 1; at < words.size(); ++at) {
    std::string_view option = words[at];
    if (is_bare_image(words, at)) {
      drives.add_drive({{"file", words[at]}, {"id", "hda"}});
      continue;
    }
    if (!option.starts_with('-'))
      continue;
    option.remove_prefix(option.starts_with("--") ? 2 : 1);
    if (const std::size_t equals = option.find('='); equals != option.npos)
      add_option(option.substr(0, equals), std::string(option.substr(equals + 1)), command, drives);
    else if (at + 1 < words.size())
      add_option(option, words[at + 1], command, drives);
  }
  drives.find_images();
  return command;
}

bool is_qemu(std::string_view program) {
  return program.starts_with("qemu-system-") || program == "qemu-kvm" || program == "kvm" ||
         program == "qemu-storage-daemon";
}

} // namespace iotrail::capture::vm
