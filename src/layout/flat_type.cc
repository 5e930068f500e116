#include "layout/flat_type.h"

#include <algorithm>
#include <utility>

#include "layout/flat_node.h"

namespace tutti {
namespace {

// Lower and upper bound of a type, grown part by part.
struct Bounds {
  std::int64_t lb = 0;
  std::int64_t ub = 0;
  bool any = false;

  void add(std::int64_t low, std::int64_t high) {
    lb = any ? std::min(lb, low) : low;
    ub = any ? std::max(ub, high) : high;
    any = true;
  }
  // `count` of a type, `stride` apart, the first at `at`.
  void add(std::int64_t at, std::int64_t count, std::int64_t stride, std::int64_t low, std::int64_t high) {
    if (count == 0) return;
    const std::int64_t reach = (count - 1) * stride;
    add(at + low + std::min<std::int64_t>(0, reach), at + high + std::max<std::int64_t>(0, reach));
  }
};

void visit_runs(const flat::Signature& signature, const std::function<void(const ElementRun&)>& visit) {
  if (signature.parts.empty()) return visit(signature.run);
  for (const auto& part : signature.parts) {
    for (std::int64_t i = 0; i < part.count; ++i) visit_runs(*part.signature, visit);
  }
}

std::size_t signature_memory(const flat::Signature& signature) {
  std::size_t bytes = sizeof(flat::Signature) + signature.parts.capacity() * sizeof(flat::Signature::Part);
  for (const auto& part : signature.parts) bytes += signature_memory(*part.signature);
  return bytes;
}

}  // namespace

FlatType::FlatType() : FlatType(bytes(1)) {}

FlatType::FlatType(flat::Placed data, std::int64_t lb, std::int64_t extent, flat::SignaturePointer signature)
    : data_(std::move(data)), lb_(lb), extent_(extent), signature_(std::move(signature)) {}

FlatType FlatType::empty() { return {{}, 0, 0, nullptr}; }

FlatType FlatType::bytes(std::int64_t size) {
  if (size == 0) return empty();
  if (size > 255) return contiguous(size, bytes(1));
  const auto width = static_cast<std::uint8_t>(size);
  return element({width, width, Element::Kind::natural});
}

FlatType FlatType::element(Element element) {
  return {flat::dense(element.size), 0, element.size, flat::signature({element, 1})};
}

FlatType FlatType::contiguous(std::int64_t count, const FlatType& type) { return vector(1, count, 0, type); }

FlatType FlatType::vector(std::int64_t count, std::int64_t block_length, std::int64_t stride,
                          const FlatType& type) {
  if (count == 0 || block_length == 0) return empty();
  const flat::Placed block = flat::repeat(block_length, type.extent_, type.data_);
  Bounds one;
  one.add(0, block_length, type.extent_, type.lb_, type.lb_ + type.extent_);
  Bounds all;
  all.add(0, count, stride, one.lb, one.ub);
  return {flat::repeat(count, stride, block), all.lb, all.ub - all.lb,
          flat::repeat(count * block_length, type.signature_)};
}

FlatType FlatType::indexed(std::span<const std::int64_t> block_lengths,
                           std::span<const std::int64_t> displacements, const FlatType& type) {
  Bounds bounds;
  std::int64_t total = 0;
  // Blocks of a type whose repetitions touch are blocks of bytes.
  const std::int64_t unit = type.contiguous() ? type.size() : 0;
  const std::int64_t shift = unit > 0 ? type.data_.shift : 0;
  std::vector<flat::Block> list;
  list.reserve(block_lengths.size());
  for (std::size_t i = 0; i < block_lengths.size(); ++i) {
    if (block_lengths[i] == 0) continue;
    bounds.add(displacements[i], block_lengths[i], type.extent_, type.lb_, type.lb_ + type.extent_);
    total += block_lengths[i];
    list.push_back({displacements[i] + shift, unit > 0 ? block_lengths[i] * unit : block_lengths[i]});
  }
  flat::Placed data =
      unit > 0 ? flat::blocks(std::move(list)) : flat::list(std::move(list), type.extent_, type.data_);
  return {std::move(data), bounds.lb, bounds.ub - bounds.lb, flat::repeat(total, type.signature_)};
}

FlatType FlatType::structure(std::span<const std::int64_t> block_lengths,
                             std::span<const std::int64_t> displacements, std::span<const FlatType> types) {
  Bounds bounds;
  std::vector<flat::Placed> parts;
  std::vector<flat::Signature::Part> signatures;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const FlatType& type = types[i];
    if (block_lengths[i] == 0) continue;
    bounds.add(displacements[i], block_lengths[i], type.extent_, type.lb_, type.lb_ + type.extent_);
    flat::Placed part = flat::repeat(block_lengths[i], type.extent_, type.data_);
    part.shift += displacements[i];
    parts.push_back(std::move(part));
    signatures.push_back({type.signature_, block_lengths[i]});
  }
  return {flat::group(std::move(parts)), bounds.lb, bounds.ub - bounds.lb,
          flat::sequence(std::move(signatures))};
}

FlatType FlatType::resized(std::int64_t lb, std::int64_t extent, const FlatType& type) {
  return {type.data_, lb, extent, type.signature_};
}

FlatType FlatType::shifted(std::int64_t bytes, const FlatType& type) {
  FlatType moved = type;
  moved.lb_ += bytes;
  moved.data_.shift += bytes;
  return moved;
}

std::int64_t FlatType::size() const { return data_.node == nullptr ? 0 : data_.node->size; }

std::int64_t FlatType::true_lb() const { return data_.node == nullptr ? 0 : data_.shift + data_.node->low; }

std::int64_t FlatType::true_extent() const {
  return data_.node == nullptr ? 0 : data_.node->high - data_.node->low;
}

bool FlatType::contiguous() const {
  return data_.node != nullptr && data_.node->kind == flat::Node::Kind::dense && extent_ == data_.node->size;
}

std::int64_t FlatType::blocks() const { return data_.node == nullptr ? 0 : data_.node->runs; }
bool FlatType::ascending() const { return data_.node == nullptr || data_.node->ascending; }
bool FlatType::tiles_ascending() const { return ascending() && extent_ >= true_extent(); }
bool FlatType::sorted() const { return data_.node == nullptr || data_.node->sorted; }

std::int64_t FlatType::size_before(std::int64_t place) const {
  return data_.node == nullptr ? 0 : flat::size_before(*data_.node, place - data_.shift);
}

std::size_t FlatType::memory() const {
  return (data_.node == nullptr ? 0 : flat::memory(*data_.node)) +
         (signature_ == nullptr ? 0 : signature_memory(*signature_));
}

std::int64_t FlatType::external_size() const { return signature_ == nullptr ? 0 : signature_->external; }

void FlatType::each_element_run(const std::function<void(const ElementRun&)>& visit) const {
  if (signature_ != nullptr) visit_runs(*signature_, visit);
}

}  // namespace tutti
