// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/kernel_types.hpp"

#include <fcntl.h>
#include <linux/btf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/fd.hpp"
#include "capture/kernel/reasons.hpp"

namespace iotrail::capture::kernel {
namespace {

constexpr const char* kFolder = "/sys/kernel/btf"; // a file for the kernel, and one for each module
constexpr const char* kKernel = "vmlinux";
constexpr std::string_view kTracepointPrefix = "btf_trace_";
constexpr int kUnknownParameters = -1;
constexpr std::size_t kBytesOfType = 24; // about

// Empty: there is none.
std::string read_btf(const std::filesystem::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || status.st_size <= 0)
    return {};
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t size = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (size <= 0)
      return {};
    at += static_cast<std::size_t>(size);
  }
  return bytes;
}

// Bytes that follow a type's btf_type, as linux/btf.h describes each kind; nothing: a kind that is not known.
std::optional<std::size_t> extra_bytes(const btf_type& type) {
  const std::size_t count = BTF_INFO_VLEN(type.info);
  switch (BTF_INFO_KIND(type.info)) {
  case BTF_KIND_INT:
  case BTF_KIND_VAR:
  case BTF_KIND_DECL_TAG:
    return 4;
  case BTF_KIND_ARRAY:
    return sizeof(btf_array);
  case BTF_KIND_STRUCT:
  case BTF_KIND_UNION:
    return count * sizeof(btf_member);
  case BTF_KIND_ENUM:
    return count * sizeof(btf_enum);
  case BTF_KIND_ENUM64:
  case BTF_KIND_DATASEC:
    return count * sizeof(btf_var_secinfo);
  case BTF_KIND_FUNC_PROTO:
    return count * sizeof(btf_param);
  case BTF_KIND_PTR:
  case BTF_KIND_FWD:
  case BTF_KIND_TYPEDEF:
  case BTF_KIND_VOLATILE:
  case BTF_KIND_CONST:
  case BTF_KIND_RESTRICT:
  case BTF_KIND_FUNC:
  case BTF_KIND_FLOAT:
  case BTF_KIND_TYPE_TAG:
    return 0;
  default:
    return std::nullopt;
  }
}

// Which of a hundred thousand names may be one of a few: told by their first letters.
class FirstLetters {
public:
  void add(std::string_view name) { bits_[hash(name)] = true; }
  bool may_have(std::string_view name) const { return bits_[hash(name)]; }

private:
  static std::size_t hash(std::string_view name) {
    std::uint32_t letters = 0;
    std::memcpy(&letters, name.data(), std::min(name.size(), sizeof letters));
    return letters * 2654435761U >> 20U;
  }
  std::array<bool, 4096> bits_{};
};

// The string at an offset, with its end; empty where the offset is none.
std::string_view string_at(std::string_view strings, std::uint32_t offset) {
  if (offset >= strings.size())
    return {};
  const std::string_view rest = strings.substr(offset);
  return rest.substr(0, ::strnlen(rest.data(), rest.size()));
}

// `members`: what follows the type.
KernelTypes::Enumerators enumerators_in(std::string_view members, std::string_view strings) {
  KernelTypes::Enumerators named;
  for (std::size_t at = 0; at < members.size(); at += sizeof(btf_enum)) {
    btf_enum member{};
    std::memcpy(&member, members.data() + at, sizeof member);
    named.emplace_back(string_at(strings, member.name_off), static_cast<std::uint32_t>(member.val));
  }
  return named;
}

bool has_name_to_read(unsigned kind) {
  return kind == BTF_KIND_FUNC || kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_ENUM;
}

struct Sections {
  std::string_view strings;
  std::string_view types;
};

// Nothing: the bytes are not as they should be.
std::optional<Sections> sections_of(std::string_view btf) {
  btf_header header{};
  if (btf.size() < sizeof header)
    return std::nullopt;
  std::memcpy(&header, btf.data(), sizeof header);
  if (header.magic != BTF_MAGIC || header.hdr_len > btf.size())
    return std::nullopt;
  const std::string_view body = btf.substr(header.hdr_len);
  if (header.str_off > body.size() || header.type_off > body.size())
    return std::nullopt;
  return Sections{.strings = body.substr(header.str_off, header.str_len),
                  .types = body.substr(header.type_off, header.type_len)};
}

} // namespace

// False: the bytes are not as they should be.
bool KernelTypes::scan(std::string_view btf, std::span<const std::string_view> functions) {
  const auto sections = sections_of(btf);
  if (!sections)
    return false;
  const auto [strings, types] = *sections;

  FirstLetters letters;
  for (const std::string_view name : functions)
    letters.add(name);
  letters.add(kTracepointPrefix);
  for (const std::string_view name : kReasonTypes)
    letters.add(name);
  std::vector<std::uint32_t> place_of; // by id, less 1
  place_of.reserve(types.size() / kBytesOfType);
  std::map<std::string, std::uint32_t, std::less<>> prototypes;
  std::map<std::string, std::uint32_t, std::less<>> pointers; // to prototypes, of tracepoints
  for (std::size_t at = 0; at < types.size();) {
    btf_type type{};
    if (types.size() - at < sizeof type)
      return false;
    std::memcpy(&type, types.data() + at, sizeof type);
    const auto extra = extra_bytes(type);
    if (!extra || *extra > types.size() - at - sizeof type)
      return false;
    place_of.push_back(static_cast<std::uint32_t>(at));
    at += sizeof type + *extra;
    const unsigned kind = BTF_INFO_KIND(type.info);
    if (!has_name_to_read(kind) || type.name_off >= strings.size() ||
        !letters.may_have(strings.substr(type.name_off, sizeof(std::uint32_t))))
      continue;
    const std::string_view name = string_at(strings, type.name_off);
    if (kind == BTF_KIND_TYPEDEF && name.starts_with(kTracepointPrefix))
      pointers[std::string(name.substr(kTracepointPrefix.size()))] = type.type;
    if (kind == BTF_KIND_ENUM && std::ranges::find(kReasonTypes, name) != kReasonTypes.end())
      enumerations_[std::string(name)] = enumerators_in(types.substr(at - *extra, *extra), strings);
    if (kind != BTF_KIND_FUNC || std::ranges::find(functions, name) == functions.end())
      continue;
    functions_[std::string(name)].id = static_cast<std::uint32_t>(place_of.size());
    prototypes[std::string(name)] = type.type;
  }
  const auto type_of = [&](std::uint32_t id) {
    btf_type type{};
    if (id != 0 && id <= place_of.size())
      std::memcpy(&type, types.data() + place_of[id - 1], sizeof type);
    return type;
  };
  for (const auto& [name, prototype] : prototypes)
    functions_[name].parameters = static_cast<int>(BTF_INFO_VLEN(type_of(prototype).info));
  for (const auto& [name, pointer] : pointers) // the first parameter is the tracepoint's own
    tracepoints_[name] = static_cast<int>(BTF_INFO_VLEN(type_of(type_of(pointer).type).info)) - 1;
  return true;
}

// A module's types go on where the kernel's end, and so do its strings: its tracepoints are named nowhere else.
void KernelTypes::scan_module(std::string_view btf) {
  const auto sections = sections_of(btf);
  if (!sections)
    return;
  const std::string_view strings = sections->strings;
  for (std::size_t at = 0; at < strings.size();) {
    const std::string_view name = string_at(strings, static_cast<std::uint32_t>(at));
    if (name.starts_with(kTracepointPrefix))
      tracepoints_.emplace(name.substr(kTracepointPrefix.size()), kUnknownParameters);
    at += name.size() + 1;
  }
}

KernelTypes KernelTypes::read(std::span<const std::string_view> functions) {
  const std::filesystem::path folder(kFolder);
  KernelTypes types;
  types.are_known_ = types.scan(read_btf(folder / kKernel), functions);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().filename() != kKernel)
      types.scan_module(read_btf(entry.path()));
  return types;
}

const KernelTypes::Enumerators& KernelTypes::enumerators(std::string_view name) const {
  static const Enumerators kNone;
  const auto found = enumerations_.find(name);
  return found == enumerations_.end() ? kNone : found->second;
}

bool KernelTypes::has_tracepoint(std::string_view name) const {
  return tracepoints_.contains(name);
}

int KernelTypes::tracepoint_parameters(std::string_view name) const {
  const auto found = tracepoints_.find(name);
  return found == tracepoints_.end() ? -1 : found->second;
}

std::uint32_t KernelTypes::function_id(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? 0 : found->second.id;
}

int KernelTypes::parameters(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? -1 : found->second.parameters;
}

} // namespace iotrail::capture::kernel
