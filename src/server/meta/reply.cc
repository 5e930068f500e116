#include "server/meta/reply.h"

#include <optional>
#include <vector>

namespace tutti::meta {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

std::string take(const FlatBufferBuilder& builder) {
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

// Of a directory: its default as it was wished for, 0 and first server 0xffffffff where it leaves the choice.
std::optional<wire::Layout> wire_layout(const Inode& node) {
  if (node.type == wire::kFile) {
    return wire::Layout(node.layout.stripe_size.count(), node.layout.stripe_count, node.layout.first_server,
                        node.layout.server_total, 0);
  }
  if (node.type == wire::kDirectory && node.wish != Wish()) {
    return wire::Layout(node.wish.stripe_size, node.wish.stripe_count,
                        static_cast<std::uint32_t>(node.wish.first_server), 0, 0);
  }
  return std::nullopt;
}

Offset<wire::Attributes> attributes(FlatBufferBuilder& builder, const Inode& node,
                                    std::optional<std::uint64_t> end) {
  const std::optional<wire::Layout> layout = wire_layout(node);
  Offset<flatbuffers::String> target;
  if (node.type == wire::kSymlink) target = builder.CreateString(node.target);
  return wire::CreateAttributes(builder, node.id, node.type, node.mode, node.uid, node.gid, node.links,
                                node.accessed.count(), node.modified.count(), node.changed.count(),
                                layout ? &*layout : nullptr, target, end.has_value(), end.value_or(0));
}

}  // namespace

std::string status_reply(const Status& status) {
  FlatBufferBuilder builder(128);
  Offset<flatbuffers::String> message;
  if (!status.ok()) message = builder.CreateString(status.message());
  builder.Finish(wire::CreateStatusReply(builder, static_cast<std::uint16_t>(status.code()), message));
  return take(builder);
}

std::uint32_t kept_rights(const Inode& node, std::uint32_t rights, std::uint32_t uid) {
  const bool owner = node.uid == uid || uid == 0;
  return owner && (rights & (wire::kRightRead | wire::kRightWrite)) != 0 ? rights | wire::kRightKeep : rights;
}

std::string node_reply(const Inode& node, std::uint32_t rights, bool created,
                       std::optional<std::uint64_t> end, const Signer& signer) {
  FlatBufferBuilder builder(512);
  const auto node_attributes = attributes(builder, node, end);
  std::optional<wire::Capability> capability;
  if (rights != 0 && node.type == wire::kFile) {
    capability = signer.key.sign(node.id, kept_rights(node, rights, signer.uid), signer.uid, signer.expiry);
  }
  builder.Finish(
      wire::CreateNodeReply(builder, 0, 0, node_attributes, capability ? &*capability : nullptr, created));
  return take(builder);
}

std::string list_reply(const Listing& listing, const Signer& signer,
                       const std::function<std::optional<std::uint64_t>(const Inode&)>& end_of) {
  FlatBufferBuilder builder(256 * (listing.entries.size() + 1));
  std::vector<Offset<wire::Entry>> entries;
  entries.reserve(listing.entries.size());
  for (const ListedEntry& each : listing.entries) {
    const auto name = builder.CreateString(each.name);
    Offset<wire::Attributes> entry_attributes;
    std::optional<wire::Capability> capability;
    if (each.node) {
      const std::optional<std::uint64_t> end = end_of(*each.node);
      entry_attributes = attributes(builder, *each.node, end);
      if (each.node->type == wire::kFile && end != 0) {
        capability = signer.key.sign(each.node->id, wire::kRightLength, signer.uid, signer.expiry);
      }
    }
    entries.push_back(wire::CreateEntry(builder, name, each.entry.inode, each.entry.type, entry_attributes,
                                        capability ? &*capability : nullptr));
  }
  const auto all = builder.CreateVector(entries);
  builder.Finish(wire::CreateListReply(builder, 0, 0, all, listing.more));
  return take(builder);
}

std::string capability_reply(const wire::Capability& capability) {
  FlatBufferBuilder builder(128);
  builder.Finish(wire::CreateCapabilityReply(builder, 0, 0, &capability));
  return take(builder);
}

}  // namespace tutti::meta
