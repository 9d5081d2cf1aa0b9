// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/btf/relocation_types.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>

#include "capture/kernel/btf/prefix_filter.hpp"

namespace iotrail::capture::kernel {
namespace {

constexpr std::uint32_t kVoid = 0;
constexpr std::uint32_t kPointer = 1; // to void, in place of all pointers

template <typename Value> void append(std::string& bytes, const Value& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// "request" for "request___before_6_8", the name in programs of a structure that only some kernels
// have.
std::string_view without_flavor(std::string_view name) {
  const std::size_t flavor = name.rfind("___");
  return flavor == 0 ? name : name.substr(0, flavor);
}

bool is_relocated_by(unsigned kind) {
  return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_ENUM ||
         kind == BTF_KIND_ENUM64 || kind == BTF_KIND_TYPEDEF;
}

std::set<std::string_view> names_in(const BtfData& programs) {
  std::set<std::string_view> names;
  for (std::uint32_t id = programs.first_id(); id < programs.end_id(); ++id)
    if (const btf_type type = programs.type(id); is_relocated_by(kind_of(type)))
      names.insert(without_flavor(programs.string(type.name_off)));
  names.erase("");
  return names;
}

// Type information that grows by types of others, and by the types within these.
class TypeCollection {
public:
  TypeCollection() {
    offset_of("");
    append(types_, btf_type{.name_off = 0, .info = info_of(BTF_KIND_PTR), .type = kVoid});
  }

  void take(const BtfData& from, std::uint32_t id) {
    number_of(from, id);
    for (; !queue_.empty(); queue_.pop())
      copy(*queue_.front().first, queue_.front().second);
  }

  void add_enumeration(std::string_view name,
                       const std::map<std::string_view, std::uint32_t>& members) {
    ++numbers_given_;
    append(types_,
           btf_type{.name_off = offset_of(name),
                    .info = info_of(BTF_KIND_ENUM) | static_cast<std::uint32_t>(members.size()),
                    .size = sizeof(std::uint32_t)});
    for (const auto& [member, value] : members) {
      const struct btf_enum enumerator{.name_off = offset_of(member),
                                       .val = static_cast<std::int32_t>(value)};
      append(types_, enumerator);
    }
  }

  std::string bytes() const {
    std::string bytes;
    append(bytes, btf_header{.magic = BTF_MAGIC,
                             .version = BTF_VERSION,
                             .flags = 0,
                             .hdr_len = sizeof(btf_header),
                             .type_off = 0,
                             .type_len = static_cast<std::uint32_t>(types_.size()),
                             .str_off = static_cast<std::uint32_t>(types_.size()),
                             .str_len = static_cast<std::uint32_t>(strings_.size())});
    return bytes + types_ + strings_;
  }

private:
  static constexpr std::uint32_t info_of(std::uint32_t kind) { return kind << 24U; }

  // The number here. New types are copied later, in the order of their numbers.
  std::uint32_t number_of(const BtfData& from, std::uint32_t id) {
    const unsigned kind = kind_of(from.type(id));
    if (kind == BTF_KIND_PTR)
      return kPointer;
    if (id == kVoid || kind == BTF_KIND_FUNC_PROTO)
      return kVoid;
    const BtfData& owner = from.owner_of(id);
    const auto [known, is_new] = numbers_.try_emplace({&owner, id}, numbers_given_ + 1);
    if (is_new) {
      ++numbers_given_;
      queue_.emplace(&owner, id);
    }
    return known->second;
  }

  std::uint32_t offset_of(std::string_view string) {
    const auto [known, is_new] = offsets_.try_emplace(std::string(string), strings_.size());
    if (is_new)
      strings_.append(string).push_back('\0');
    return known->second;
  }

  void copy(const BtfData& from, std::uint32_t id) {
    btf_type type = from.type(id);
    type.name_off = offset_of(from.string(type.name_off));
    if (refers_to_type(kind_of(type)))
      type.type = number_of(from, type.type);
    append(types_, type);
    switch (kind_of(type)) {
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
      return copy_members(from, id);
    case BTF_KIND_ARRAY:
      return copy_array(from, id);
    case BTF_KIND_ENUM:
      return copy_named<struct btf_enum>(from, id);
    case BTF_KIND_ENUM64:
      return copy_named<struct btf_enum64>(from, id);
    default:
      types_.append(from.extra(id));
    }
  }

  static bool refers_to_type(unsigned kind) {
    return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE ||
           kind == BTF_KIND_RESTRICT || kind == BTF_KIND_TYPE_TAG;
  }

  void copy_members(const BtfData& from, std::uint32_t id) {
    for (struct btf_member member : from.parts<struct btf_member>(id)) {
      member.name_off = offset_of(from.string(member.name_off));
      member.type = number_of(from, member.type);
      append(types_, member);
    }
  }

  void copy_array(const BtfData& from, std::uint32_t id) {
    for (struct btf_array array : from.parts<struct btf_array>(id)) {
      array.type = number_of(from, array.type);
      array.index_type = number_of(from, array.index_type);
      append(types_, array);
    }
  }

  template <typename Enumerator> void copy_named(const BtfData& from, std::uint32_t id) {
    for (Enumerator enumerator : from.parts<Enumerator>(id)) {
      enumerator.name_off = offset_of(from.string(enumerator.name_off));
      append(types_, enumerator);
    }
  }

  std::string types_;
  std::string strings_;
  std::uint32_t numbers_given_ = kPointer;
  std::map<std::pair<const BtfData*, std::uint32_t>, std::uint32_t> numbers_;
  std::queue<std::pair<const BtfData*, std::uint32_t>> queue_; // numbered, but not copied yet
  std::unordered_map<std::string, std::uint32_t> offsets_;
};

// The members of kTypeNumbers with structures in the kernel.
std::map<std::string_view, std::uint32_t>
type_numbers(const BtfData& programs, const std::map<std::string_view, std::uint32_t>& structures) {
  std::map<std::string_view, std::uint32_t> numbers;
  for (std::uint32_t id = programs.first_id(); id < programs.end_id(); ++id) {
    const btf_type type = programs.type(id);
    if (kind_of(type) != BTF_KIND_ENUM || programs.string(type.name_off) != kTypeNumbers)
      continue;
    for (const struct btf_enum& member : programs.parts<struct btf_enum>(id)) {
      const std::string_view name = programs.string(member.name_off);
      const auto found =
          structures.find(name.substr(std::min(kTypeNumberPrefix.size(), name.size())));
      if (found != structures.end())
        numbers.emplace(name, found->second);
    }
  }
  return numbers;
}

} // namespace

std::string relocation_types(const BtfData& programs, const KernelBtf& kernel) {
  const std::set<std::string_view> names = names_in(programs);
  PrefixFilter letters;
  for (const std::string_view name : names)
    letters.add(name);
  TypeCollection collection;
  std::set<std::string_view> found_names;
  std::map<std::string_view, std::uint32_t>
      structures; // of the kernel's own types: their numbers there
  const auto take_from = [&](const BtfData& btf, const std::set<std::string_view>& wanted) {
    for (std::uint32_t id = btf.first_id(); id < btf.end_id(); ++id) {
      const btf_type type = btf.type(id);
      if (!is_relocated_by(kind_of(type)) || !letters.may_have(btf.strings_from(type.name_off)))
        continue;
      const auto name = wanted.find(btf.string(type.name_off));
      if (name == wanted.end())
        continue;
      found_names.insert(*name);
      if (kind_of(type) == BTF_KIND_STRUCT && &btf == kernel.kernel.get())
        structures.try_emplace(*name, id);
      collection.take(btf, id);
    }
  };
  if (kernel.kernel)
    take_from(*kernel.kernel, names);
  std::set<std::string_view> missing;
  std::ranges::set_difference(names, found_names, std::inserter(missing, missing.end()));
  for (const KernelBtf::Module& module : kernel.modules)
    take_from(module.types, missing);
  collection.add_enumeration(kTypeNumbers, type_numbers(programs, structures));
  return collection.bytes();
}

} // namespace iotrail::capture::kernel
