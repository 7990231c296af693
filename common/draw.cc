#include "common/draw.h"

namespace dt {
uint64_t DrawBits(std::initializer_list<uint64_t> key) {
  uint64_t hash = 0x243F6A8885A308D3u;  // digits of pi, so that an empty key is no special one
  for (const uint64_t part : key) hash = SplitMix64(hash ^ part);
  return hash;
}

double DrawUnit(std::initializer_list<uint64_t> key) {
  return static_cast<double>(DrawBits(key) >> 11) * 0x1p-53;
}

double DrawUnit(const DrawKey& key, Purpose purpose, uint64_t a, uint64_t b) {
  return DrawUnit({key.seed, static_cast<uint64_t>(purpose), key.configuration, key.redraw, a, b});
}

uint64_t DrawName(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace dt
