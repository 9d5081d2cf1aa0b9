// SPDX-License-Identifier: BSD-3-Clause
//
// The files that the kernel knows below the mount point. A node holds an O_PATH descriptor, so that its inode number is not
// used again, and its last known name. The kernel names a node by its address; it releases nodes by FORGET. Thread-safe.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/fd.hpp"

namespace iotrail::capture::fuse {

using NodeId = std::uint64_t;
inline constexpr NodeId kRootNode = 1;

struct Node : std::enable_shared_from_this<Node> {
  Fd fd; // O_PATH
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t mode = 0;
  std::uint64_t lookups = 0;    // that the kernel has not released
  std::shared_ptr<Node> parent; // with `name`: its last known name. Outlives the kernel's interest
  std::string name;
};

// A node as an event describes it.
struct NodeFacts {
  std::uint64_t inode = 0;
  std::uint32_t mode = 0;
};

class NodeTable {
public:
  explicit NodeTable(Fd root);

  // `id` comes from the kernel, which holds a lookup of it.
  int fd(NodeId id) const { return node(id).fd.get(); }
  NodeFacts facts(NodeId id) const;

  // The node of an O_PATH descriptor with these attributes, which the kernel has looked up once more under this name.
  NodeId look_up(Fd fd, const struct stat& attributes, NodeId parent, std::string_view name);
  void forget(NodeId id, std::uint64_t lookups);
  // Its name is now another one.
  void rename(NodeId parent, const std::string& name, NodeId to_parent, const std::string& to_name,
              bool is_exchange);

  // Path from the root, "/a/b"; "/" for the root.
  std::string path(NodeId id) const;
  std::string path(NodeId parent, std::string_view name) const;

private:
  struct Key {
    std::uint64_t device;
    std::uint64_t inode;
    bool operator==(const Key&) const = default;
  };
  struct NameKey {
    const Node* parent;
    std::string name;
    bool operator==(const NameKey&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>()(key.inode ^ key.device << 40U);
    }
    std::size_t operator()(const NameKey& key) const {
      return std::hash<std::string>()(key.name) ^ std::hash<const Node*>()(key.parent);
    }
  };

  Node& node(NodeId id) const {
    return id == kRootNode ? *root_ : *reinterpret_cast<Node*>(static_cast<std::uintptr_t>(id));
  }
  static NodeId id_of(const Node& node) {
    return static_cast<NodeId>(reinterpret_cast<std::uintptr_t>(&node));
  }
  std::shared_ptr<Node> shared(NodeId id) const;
  void set_name(Node& node, std::shared_ptr<Node> parent, std::string_view name);
  std::string path_of(const Node& node) const;
  void drop_name(const Node& node);

  std::shared_ptr<Node> root_;
  mutable std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<Node>, Hash> nodes_;
  std::unordered_map<NameKey, Node*, Hash> names_;
};

} // namespace iotrail::capture::fuse
