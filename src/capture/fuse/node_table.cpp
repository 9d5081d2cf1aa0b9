// SPDX-License-Identifier: BSD-3-Clause
#include "capture/fuse/node_table.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace iotrail::capture::fuse {
namespace {

constexpr std::size_t kPathBytesMost = 16U << 10U; // ends a loop, which cannot arise

} // namespace

NodeTable::NodeTable(Fd root) : root_(std::make_shared<Node>()) {
  struct stat attributes{};
  ::fstat(root.get(), &attributes);
  root_->fd = std::move(root);
  root_->device = attributes.st_dev;
  root_->inode = attributes.st_ino;
  root_->mode = attributes.st_mode;
}

NodeFacts NodeTable::facts(NodeId id) const {
  const Node& found = node(id);
  return {.inode = found.inode, .mode = found.mode};
}

void NodeTable::drop_name(const Node& node) {
  const auto found = names_.find({node.parent.get(), node.name});
  if (found != names_.end() && found->second == &node)
    names_.erase(found);
}

std::shared_ptr<Node> NodeTable::shared(NodeId id) const {
  return node(id).shared_from_this();
}

void NodeTable::set_name(Node& node, std::shared_ptr<Node> parent, std::string_view name) {
  if (node.parent != parent || node.name != name) {
    drop_name(node);
    node.parent = std::move(parent);
    node.name = name;
  }
  names_[{node.parent.get(), node.name}] = &node;
}

NodeId NodeTable::look_up(Fd fd, const struct stat& attributes, NodeId parent,
                          std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (attributes.st_dev == root_->device && attributes.st_ino == root_->inode)
    return kRootNode;
  std::shared_ptr<Node>& slot = nodes_[{attributes.st_dev, attributes.st_ino}];
  if (!slot) {
    slot = std::make_shared<Node>();
    slot->fd = std::move(fd);
    slot->device = attributes.st_dev;
    slot->inode = attributes.st_ino;
    slot->mode = attributes.st_mode;
  }
  ++slot->lookups;
  set_name(*slot, shared(parent), name);
  return id_of(*slot);
}

void NodeTable::forget(NodeId id, std::uint64_t lookups) {
  if (id == kRootNode)
    return;
  std::shared_ptr<Node> gone; // closes its descriptor without the lock
  const std::lock_guard lock(mutex_);
  Node& found = node(id);
  found.lookups -= std::min(found.lookups, lookups);
  if (found.lookups != 0)
    return;
  drop_name(found);
  const auto slot = nodes_.find({found.device, found.inode});
  gone = std::move(slot->second);
  nodes_.erase(slot);
  gone->fd.reset();
}

void NodeTable::rename(NodeId parent, const std::string& name, NodeId to_parent,
                       const std::string& to_name, bool is_exchange) {
  const std::lock_guard lock(mutex_);
  const auto from = names_.find({&node(parent), name});
  const auto to = names_.find({&node(to_parent), to_name});
  Node* const moved = from == names_.end() ? nullptr : from->second;
  Node* const replaced = to == names_.end() ? nullptr : to->second;
  if (is_exchange && replaced != nullptr)
    set_name(*replaced, shared(parent), name);
  if (moved != nullptr)
    set_name(*moved, shared(to_parent), to_name);
}

std::string NodeTable::path_of(const Node& node) const {
  std::vector<const std::string*> names;
  std::size_t bytes = 0;
  for (const Node* at = &node; at != root_.get() && at != nullptr && bytes < kPathBytesMost;
       at = at->parent.get()) {
    names.push_back(&at->name);
    bytes += at->name.size() + 1;
  }
  std::string path;
  path.reserve(bytes + 1);
  for (auto name = names.rbegin(); name != names.rend(); ++name)
    path.append("/").append(**name);
  return path;
}

std::string NodeTable::path(NodeId id) const {
  const std::lock_guard lock(mutex_);
  std::string path = path_of(node(id));
  return path.empty() ? "/" : path;
}

std::string NodeTable::path(NodeId parent, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return path_of(node(parent)).append("/").append(name);
}

} // namespace iotrail::capture::fuse
