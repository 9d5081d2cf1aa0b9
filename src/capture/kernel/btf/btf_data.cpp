// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/btf/btf_data.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/fd.hpp"

namespace iotrail::capture::kernel {
namespace {

constexpr const char* kKernel = "vmlinux";
constexpr std::size_t kBytesOfType = 24; // about

// Empty: no such file.
std::string read_file(const std::filesystem::path& path) {
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

// Bytes after a type's btf_type, as linux/btf.h describes each kind; nothing: an unknown kind.
std::optional<std::size_t> extra_bytes(const btf_type& type) {
  const std::size_t count = BTF_INFO_VLEN(type.info);
  switch (BTF_INFO_KIND(type.info)) {
  case BTF_KIND_INT:
  case BTF_KIND_VAR:
  case BTF_KIND_DECL_TAG:
    return 4;
  case BTF_KIND_ARRAY:
    return sizeof(struct btf_array);
  case BTF_KIND_STRUCT:
  case BTF_KIND_UNION:
    return count * sizeof(struct btf_member);
  case BTF_KIND_ENUM:
    return count * sizeof(struct btf_enum);
  case BTF_KIND_ENUM64:
  case BTF_KIND_DATASEC:
    return count * sizeof(struct btf_var_secinfo);
  case BTF_KIND_FUNC_PROTO:
    return count * sizeof(struct btf_param);
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

} // namespace

std::optional<BtfData> BtfData::read(const std::filesystem::path& path, const BtfData* base) {
  return parse(read_file(path), base);
}

std::optional<BtfData> BtfData::parse(std::string bytes, const BtfData* base) {
  BtfData data;
  data.bytes_ = std::move(bytes);
  data.base_ = base;
  if (base != nullptr) {
    data.first_id_ = base->end_id();
    data.first_offset_ = base->first_offset_ + base->header_.str_len;
  }
  if (data.bytes_.size() < sizeof data.header_)
    return std::nullopt;
  std::memcpy(&data.header_, data.bytes_.data(), sizeof data.header_);
  const std::size_t size = data.bytes_.size();
  const btf_header& header = data.header_;
  if (header.magic != BTF_MAGIC || header.hdr_len > size)
    return std::nullopt;
  const std::size_t body = size - header.hdr_len;
  if (header.str_off > body || header.str_len > body - header.str_off || header.type_off > body ||
      header.type_len > body - header.type_off || !data.find_places())
    return std::nullopt;
  return data;
}

// False: the bytes are not valid BTF.
bool BtfData::find_places() {
  const std::string_view types =
      std::string_view(bytes_).substr(header_.hdr_len + header_.type_off, header_.type_len);
  places_.reserve(types.size() / kBytesOfType);
  for (std::size_t at = 0; at < types.size();) {
    btf_type type{};
    if (types.size() - at < sizeof type)
      return false;
    std::memcpy(&type, types.data() + at, sizeof type);
    const auto extra = extra_bytes(type);
    if (!extra || *extra > types.size() - at - sizeof type)
      return false;
    places_.push_back(static_cast<std::uint32_t>(at));
    at += sizeof type + *extra;
  }
  return true;
}

btf_type BtfData::type(std::uint32_t id) const {
  btf_type type{};
  if (id == 0 || id >= end_id())
    return type;
  if (id < first_id_)
    return base_->type(id);
  std::memcpy(&type, bytes_.data() + header_.hdr_len + header_.type_off + places_[id - first_id_],
              sizeof type);
  return type;
}

std::string_view BtfData::extra(std::uint32_t id) const {
  if (id == 0 || id >= end_id())
    return {};
  if (id < first_id_)
    return base_->extra(id);
  const std::size_t at =
      header_.hdr_len + header_.type_off + places_[id - first_id_] + sizeof(btf_type);
  return std::string_view(bytes_).substr(at, extra_bytes(type(id)).value_or(0));
}

std::string_view BtfData::own_strings() const {
  return std::string_view(bytes_).substr(header_.hdr_len + header_.str_off, header_.str_len);
}

std::string_view BtfData::strings_from(std::uint32_t offset) const {
  if (offset < first_offset_)
    return base_->strings_from(offset);
  const std::string_view own = own_strings();
  return offset - first_offset_ < own.size() ? own.substr(offset - first_offset_)
                                             : std::string_view();
}

std::string_view BtfData::string(std::uint32_t offset) const {
  const std::string_view rest = strings_from(offset);
  return rest.substr(0, ::strnlen(rest.data(), rest.size()));
}

KernelBtf KernelBtf::read(const std::filesystem::path& folder) {
  KernelBtf btf;
  auto kernel = BtfData::read(folder / kKernel);
  if (!kernel)
    return btf;
  btf.kernel = std::make_unique<BtfData>(std::move(*kernel));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().filename() != kKernel)
      if (auto module = BtfData::read(entry.path(), btf.kernel.get()))
        btf.modules.push_back({entry.path().filename(), std::move(*module)});
  return btf;
}

} // namespace iotrail::capture::kernel
