// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tasks/namespaces.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

namespace iotrail::capture {
namespace {

struct Namespace {
  const char* link;
  iot_u32 iot_namespaces::* field;
};
constexpr Namespace kNamespaces[] = {
#define NAMESPACE(name, link) {"ns/" link, &iot_namespaces::name},
#include "namespaces.def"
#undef NAMESPACE
};

// "mnt:[4026531841]"
iot_u32 inode_in(std::string_view target) {
  const std::size_t begin = target.find('[') + 1; // 0: none
  iot_u32 inode = 0;
  if (begin != 0)
    std::from_chars(target.data() + begin, target.data() + target.size(), inode);
  return inode;
}

} // namespace

iot_namespaces read_namespaces(int directory, const std::function<void()>& on_unread) {
  iot_namespaces namespaces{};
  for (const Namespace& row : kNamespaces) {
    std::array<char, 64> target{};
    const ssize_t bytes = ::readlinkat(directory, row.link, target.data(), target.size());
    if (bytes > 0)
      namespaces.*row.field = inode_in({target.data(), static_cast<std::size_t>(bytes)});
    else if (on_unread)
      on_unread();
  }
  return namespaces;
}

} // namespace iotrail::capture
