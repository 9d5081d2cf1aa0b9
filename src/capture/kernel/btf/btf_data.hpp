// SPDX-License-Identifier: BSD-3-Clause
//
// Type information (BTF) of the kernel and of each of its modules, type by type (linux/btf.h).
#pragma once

#include <linux/btf.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iotrail::capture::kernel {

// Does not move while it is the base of another.
class BtfData {
public:
  // Nothing: the file is missing or invalid. `base`: types and strings that those of a module
  // continue; it outlives the result.
  static std::optional<BtfData> read(const std::filesystem::path& path,
                                     const BtfData* base = nullptr);
  static std::optional<BtfData> parse(std::string bytes, const BtfData* base = nullptr);

  // Its own types have the numbers from first_id() until end_id(); lower ones belong to the base. 0
  // is void.
  std::uint32_t first_id() const { return first_id_; }
  std::uint32_t end_id() const { return first_id_ + static_cast<std::uint32_t>(places_.size()); }
  // The data that has the type: this one, or the base.
  const BtfData& owner_of(std::uint32_t id) const { return id < first_id_ ? *base_ : *this; }

  // An invalid number is void.
  btf_type type(std::uint32_t id) const;
  // The data after the type: its members or parameters, depending on its kind.
  template <typename Part> std::vector<Part> parts(std::uint32_t id) const {
    const std::string_view bytes = extra(id);
    std::vector<Part> parts(bytes.size() / sizeof(Part));
    bytes.copy(reinterpret_cast<char*>(parts.data()), parts.size() * sizeof(Part));
    return parts;
  }
  std::string_view extra(std::uint32_t id) const;

  // A string, up to its end; empty for an invalid offset.
  std::string_view string(std::uint32_t offset) const;
  // The same, and all that follows it.
  std::string_view strings_from(std::uint32_t offset) const;

private:
  bool find_places();
  std::string_view own_strings() const;

  std::string bytes_;
  btf_header header_{};
  const BtfData* base_ = nullptr;
  std::uint32_t first_id_ = 1;
  std::uint32_t first_offset_ = 0;    // of its own strings
  std::vector<std::uint32_t> places_; // of its own types, in the section of types
};

// The types of a kernel, by default the running one, and of its modules, by default the loaded
// ones.
struct KernelBtf {
  // Reads a file `vmlinux` and one for each module, which takes a few milliseconds.
  static KernelBtf read(const std::filesystem::path& folder = "/sys/kernel/btf");

  struct Module {
    std::string name;
    BtfData types;
  };

  std::unique_ptr<BtfData> kernel; // null: the kernel has none, or none that is readable
  std::vector<Module> modules;
};

inline unsigned kind_of(const btf_type& type) {
  return BTF_INFO_KIND(type.info);
}

} // namespace iotrail::capture::kernel
