// SPDX-License-Identifier: Apache-2.0
#include "cli/room_table.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/output.hpp"

namespace heddle::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string unpainted(const std::string& cell, bool) { return cell; }

void add_columns(Table& table, std::initializer_list<const char*> titles) {
  for (const char* title : titles) table.column(title, Table::Align::right);
}

}  // namespace

std::string rooms_table(const RunResult& result) {
  std::string text = result.variant.empty() ? "" : fmt::format("{} {}\n", result.program, result.variant);
  Table rings;
  add_columns(rings, {"ring", "tasks", "of", "heap bytes", "of", "edges", "of", "waits for room"});
  for (std::size_t i = 0; i < result.rooms->rings.size(); ++i) {
    const RingUse& ring = result.rooms->rings[i];
    if (ring.most.tasks == 0) continue;
    rings.row({std::to_string(i), grouped(ring.most.tasks), grouped(result.ring.task_window),
               grouped(ring.most.heap_bytes), grouped(result.ring.heap_bytes), grouped(ring.most.edges),
               grouped(result.ring.dep_pool), grouped(ring.waits)});
  }
  text += rings.text(unpainted, false) + '\n';
  Table scopes;
  add_columns(scopes, {"ring", "opened", "tasks", "heap bytes", "edges"});
  scopes.column("held by the scope at", Table::Align::left);
  for (const ScopeUse& scope : result.rooms->scopes) {
    if (scope.most.tasks == 0) continue;
    scopes.row({std::to_string(scope.ring), grouped(scope.opened), grouped(scope.most.tasks),
                grouped(scope.most.heap_bytes), grouped(scope.most.edges),
                scope.where.empty() ? "the round's own" : scope.where + (scope.manual ? " (manual)" : "")});
  }
  return text + scopes.text(unpainted, false);
}

OrderedJson rooms_json(const RoomUse& rooms, const RingConfig& size) {
  const auto of = [](std::uint64_t most, std::uint64_t all) { return OrderedJson{{"most", most}, {"size", all}}; };
  OrderedJson rings = OrderedJson::array();
  for (std::size_t i = 0; i < rooms.rings.size(); ++i) {
    const RingUse& ring = rooms.rings[i];
    rings.push_back({{"ring", i},
                     {"task_window", of(ring.most.tasks, size.task_window)},
                     {"heap_bytes", of(ring.most.heap_bytes, size.heap_bytes)},
                     {"dep_pool", of(ring.most.edges, size.dep_pool)},
                     {"waits_for_room", ring.waits}});
  }
  OrderedJson scopes = OrderedJson::array();
  for (const ScopeUse& scope : rooms.scopes)
    scopes.push_back({{"location", scope.where.empty() ? OrderedJson(nullptr) : OrderedJson(scope.where)},
                      {"ring", scope.ring},
                      {"manual", scope.manual},
                      {"opened", scope.opened},
                      {"task_window", scope.most.tasks},
                      {"heap_bytes", scope.most.heap_bytes},
                      {"dep_pool", scope.most.edges}});
  return {{"rings", std::move(rings)}, {"scopes", std::move(scopes)}};
}

}  // namespace heddle::cli
