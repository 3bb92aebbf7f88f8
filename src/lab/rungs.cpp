// SPDX-License-Identifier: Apache-2.0
#include "lab/rungs.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "base/text.hpp"
#include "lab/chips/chips.hpp"

namespace heddle::lab {
namespace {

constexpr std::uint64_t times = 4;  // what is enlarged is so many times as large
constexpr std::uint32_t window_most = 1U << 20U;
constexpr std::uint64_t heap_most = 1ULL << 30U;  // enlarged to; a larger one stays as it is
constexpr std::size_t of_the_program_most = 8;    // variants, and switches

class Rungs {
 public:
  explicit Rungs(const RungSource& source)
      : source_(source), base_(source.spec), chip_(chip_config(base_.chip, base_.chip_set)) {}

  std::vector<Rung> list() {
    program();
    faults();
    ranks();
    rounds();
    hardships();
    width();
    schedulers();
    sizes_and_values();
    return {std::make_move_iterator(rungs_.begin()), std::make_move_iterator(rungs_.end())};
  }

 private:
  Rung& add(std::string name, std::string layer) {
    rungs_.push_back({std::move(name), std::move(layer), base_, source_.settings, {}});
    return rungs_.back();
  }
  // Unless it is set already.
  void set(Rung& rung, const char* constant, std::uint64_t value, bool is_so, const char* why_not) {
    if (is_so) rung.why_not = why_not;
    rung.spec.chip_set[constant] = value;
  }

  void schedulers() {
    set(add("early dispatch off", "early dispatch"), "early_dispatch", 0, !chip_.early.on, "it is off");
    set(add("one scheduler", "the schedulers' work side by side"), "schedulers", 1, chip_.geometry.schedulers == 1,
        "there is one");
    Rung& atomic = add("schedulers step by step", "the schedulers' own accesses to memory");
    atomic.spec.fidelity = Fidelity::program;
    if (base_.fidelity == Fidelity::program) atomic.why_not = "the fidelity is program";
  }

  void width() {
    const std::uint64_t clusters = chip_.geometry.clusters;
    const auto with = [&](Rung& rung, std::uint64_t count) {
      rung.spec.chip_set["clusters"] = count;
      if (base_.chip_set.contains("schedulers"))
        rung.spec.chip_set["schedulers"] = std::min<std::uint64_t>(chip_.geometry.schedulers, count);
    };
    Rung& half = add("width halved", "the number of cores");
    with(half, clusters / 2);
    if (clusters == 1) half.why_not = "there is one cluster";
    Rung& wide = add("width x4", "the number of cores");
    with(wide, clusters * times);
    if (clusters * times > 4096) wide.why_not = "there are " + std::to_string(clusters) + " clusters";
  }

  void hardships() {
    Rung& ideal = add("ideal chip", "the chip's latencies");
    ideal.spec.chip = "ideal";
    ideal.spec.chip_set = {{"clusters", chip_.geometry.clusters}};
    for (const char* name : {"early_dispatch", "gated_share", "flag_most", "tile_queue", "dies_per_card",
                             "ordered_notifies", "coherent_scalars"})
      if (const auto found = base_.chip_set.find(name); found != base_.chip_set.end())
        ideal.spec.chip_set.insert(*found);
    if (base_.chip == "ideal") ideal.why_not = "it is the ideal chip";

    const Surroundings around = surroundings_of(base_.chip_set);
    set(add("ordered notifies", "notifies that overtake puts"), "ordered_notifies", 1, around.ordered_notifies,
        "they are ordered");
    Rung& coherent = add("no scalar caches", "caches of scalar accesses");
    set(coherent, "coherent_scalars", 1, around.coherent_scalars, "there are none");
    // Two cores that write into one line are no fault where nobody keeps a line.
    std::erase(coherent.spec.checkers, "lines");
    const auto ranks = static_cast<std::uint64_t>(base_.ranks);
    set(add("one card", "links between cards"), "dies_per_card", ranks, ranks <= around.links.dies_per_card,
        "all ranks are on one card");
    Rung& room = add("flags and tiles x4", "the room for flags and tiles between halves");
    room.spec.chip_set["flag_most"] = std::uint64_t{chip_.handovers.flag_most} * times;
    room.spec.chip_set["tile_queue"] = std::min<std::uint64_t>(std::uint64_t{chip_.handovers.tiles} * times, 1024);
  }

  void sizes_and_values() {
    Rung& rung = add("rings x4", "the size of the rings");
    RingConfig& ring = rung.spec.session.ring;
    ring.task_window = static_cast<std::uint32_t>(std::min<std::uint64_t>(ring.task_window * times, window_most));
    ring.heap_bytes = std::max(ring.heap_bytes, std::min(ring.heap_bytes * times, heap_most));
    ring.dep_pool = static_cast<std::uint32_t>(std::min<std::uint64_t>(ring.dep_pool * times, UINT32_MAX));
    Rung& off = add("values off", "the values that kernels compute");
    off.spec.values = false;
    if (!base_.values) off.why_not = "they are off";
  }

  void rounds() {
    Rung& zeroed = add("windows zeroed", "what earlier rounds leave in the windows");
    zeroed.spec.session.reset_windows = true;
    Rung& once = add("one round", "what earlier rounds leave behind");
    once.spec.rounds = 1;
    if (base_.session.reset_windows) zeroed.why_not = "they are zeroed before each round";
    if (base_.rounds == 1) zeroed.why_not = once.why_not = "there is one round";
  }

  void ranks() {
    const int group = std::max(source_.make(source_.settings)->defaults().group, 1);
    Rung& rung = add(group == 1 ? "one rank" : "one group of " + std::to_string(group) + " ranks",
                     group == 1 ? "what ranks do to each other" : "what groups of ranks do to each other");
    rung.spec.ranks = group;
    if (base_.ranks <= group) rung.why_not = group == 1 ? "there is one" : "there is one group";
  }

  void faults() {
    for (const auto& [fault, count] : base_.faults)
      add("without " + fault, "the fault " + fault).spec.faults.erase(fault);
  }

  void of_the_program(const std::string& name, const Settings& changes) {
    Rung& rung = add(name, "the program's " + changes.front().first);
    for (const auto& [key, value] : changes) {
      std::erase_if(rung.settings, [&, &wanted = key](const auto& setting) { return setting.first == wanted; });
      rung.settings.emplace_back(key, value);
    }
  }

  void program() {
    const std::shared_ptr<ProgramBase> made = source_.make(source_.settings);
    ParameterList list;
    made->parameters(list);
    const auto value_of = [&](const std::string& name) {
      const auto found =
          std::find_if(list.all().begin(), list.all().end(), [&](const auto& each) { return each.name == name; });
      return found == list.all().end() ? std::string() : found->value();
    };
    std::size_t count = 0;
    for (const Variant& variant : made->matrix()) {
      const bool is_it = std::all_of(variant.settings.begin(), variant.settings.end(),
                                     [&](const auto& setting) { return value_of(setting.first) == setting.second; });
      if (is_it || variant.settings.empty() || count++ >= of_the_program_most) continue;
      of_the_program("variant " + variant.name, variant.settings);
    }
    count = 0;
    for (const auto& parameter : list.all()) {
      const auto* const field = std::get_if<bool*>(&parameter.field);
      if (field == nullptr || count++ >= of_the_program_most) continue;
      const std::string value = **field ? "false" : "true";
      of_the_program(parameter.name + "=" + value, {{parameter.name, value}});
    }
    for (const auto& [name, value] : source_.more) of_the_program(name + "=" + value, {{name, value}});
  }

  const RungSource& source_;
  const RunSpec& base_;
  const chip::Config chip_;
  std::deque<Rung> rungs_;  // add() gives references that stay
};

}  // namespace

std::vector<Rung> rungs_of(const RungSource& source) { return Rungs(source).list(); }

}  // namespace heddle::lab
