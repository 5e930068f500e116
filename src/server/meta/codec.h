// Encoder and Decoder: little-endian numbers and short strings in stored records.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tutti::meta {

template <std::integral Number>
void append_big_endian(std::string& bytes, Number number) {
  const auto value = static_cast<std::make_unsigned_t<Number>>(number);
  for (std::size_t i = sizeof(Number); i-- > 0;)
    bytes.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
}

// `bytes` must be long enough.
template <std::unsigned_integral Number>
Number read_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return static_cast<Number>(value);
}

class Encoder {
 public:
  template <std::integral Number>
  Encoder& number(Number number) {
    const auto value = static_cast<std::make_unsigned_t<Number>>(number);
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      bytes_.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
    }
    return *this;
  }
  // Runs to the end of the record.
  Encoder& rest(std::string_view text) {
    bytes_.append(text);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads past the end give zeros and make sound() false.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  template <std::integral Number>
  Number number() {
    if (bytes_.size() < sizeof(Number)) {
      sound_ = false;
      bytes_ = {};
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = sizeof(Number); i-- > 0;)
      value = value << 8U | static_cast<unsigned char>(bytes_[i]);
    bytes_.remove_prefix(sizeof(Number));
    return static_cast<Number>(value);
  }
  template <std::integral Number>
  void into(Number& place) {
    place = number<Number>();
  }
  std::string rest() { return std::string(std::exchange(bytes_, {})); }

  [[nodiscard]] bool sound() const { return sound_; }
  // Sound, and nothing is left.
  [[nodiscard]] bool done() const { return sound_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool sound_ = true;
};

}  // namespace tutti::meta
