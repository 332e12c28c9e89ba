// SPDX-License-Identifier: MIT
/* Shows the snapshots that the node sends once a second. */
import { age, clock, count, seconds } from "../src/format.js";
import { drawMembers } from "./picture.js";
import { byId, keyed, lines, make, row, set } from "./tools.js";

const SILENT_MS = 4000; // without a snapshot for so long, what is shown may be wrong
const AGAIN_MS = 5000;
let source = null;
let last = null; // the last snapshot
let before = null; // the one before
let heard = 0; // when the last came, by this page's clock

// Times of the node's own clock: how long ago, and when.
const ago = (at) => last.clock + (performance.now() - heard) - at;
const when = (at) => clock(last.time - (last.clock - at));

// ---- at a glance ----

const rate = (value, past) => {
  const span = before ? last.clock - before.clock : 0;
  return span > 0 ? Math.max(0, ((value - past) * 1000) / span) : 0;
};

const perSecond = (value, past) => {
  const found = rate(value, past);
  return found && found < 10 ? found.toFixed(1) : Math.round(found).toLocaleString("en");
};

const glance = () => {
  const { view, lease, counts, log } = last;
  const tiles = [
    [
      "view",
      view.members ? String(view.epoch) : "none",
      view.members ? `${count(view.members, "member")}, ${age(view.age)}` : "",
    ],
    [
      "coordinator",
      view.coordinator === undefined ? "none" : `node ${view.coordinator}`,
      `elected by ${view.election}`,
    ],
  ];
  if (lease)
    tiles.push([
      "lease",
      lease.left > 0 ? "held" : "none",
      `${seconds(lease.length)}, lost ${count(lease.lapses, "time")}`,
    ]);
  if (lease && lease.grace > 0) tiles.push(["time of grace", seconds(lease.grace), "only claims are granted"]);
  if (log) tiles.push(["leader of the log", log.leader >= 0 ? `node ${log.leader}` : "none", `term ${log.term}`]);
  tiles.push(
    [
      "held here",
      counts.held.toLocaleString("en"),
      counts.losses ? `${counts.losses.toLocaleString("en")} lost so far` : "none lost so far",
    ],
    ["waiting here", counts.waiting.toLocaleString("en"), ""],
    [
      "grants a second",
      perSecond(counts.grants, before ? before.counts.grants : 0),
      `${counts.grants.toLocaleString("en")} so far`,
    ],
    ["clients", counts.clients.toLocaleString("en"), `of ${counts.most.toLocaleString("en")}`],
  );
  keyed(
    byId("tiles"),
    tiles,
    (tile) => tile[0],
    (tile) => {
      const box = make("div");
      const value = make("dd");
      value.append(make("b"), make("small"));
      box.append(make("dt", tile[0]), value);
      return box;
    },
    (box, tile) => {
      set(box.querySelector("b"), tile[1]);
      set(box.querySelector("small"), tile[2]);
    },
  );
};

const health = () => {
  const good = last.trouble === undefined;
  set(byId("node"), `node ${last.node}`);
  set(byId("health"), good ? "grants" : "grants nothing");
  byId("health").className = `pill ${good ? "good" : "bad"}`;
  byId("trouble").hidden = good;
  set(byId("trouble"), good ? "" : `This node grants nothing: ${last.trouble}.`);
  set(
    byId("version"),
    `conclave ${last.version}, group ${last.mode}, started ${new Date(last.started).toLocaleString("en-GB")}`,
  );
  document.title = `${good ? "" : "⚠ "}node ${last.node} · conclave`;
};

// ---- members ----

const members = () =>
  keyed(
    byId("members"),
    last.members || [],
    (it) => String(it.id),
    row("node", "state", "heard", "round trip", "suspected", "address"),
    (line, it) => {
      const [node, state, heardAgo, trip, suspected, address] = line.children;
      const roles = [
        it.id === last.view.coordinator && "coordinates",
        it.voter === false && "no vote",
        !it.view && "not in the view",
      ].filter(Boolean);
      set(node, [it.id, ...roles].join(" · "));
      if (!state.firstChild) state.append(make("span"));
      set(state.firstChild, it.state);
      state.firstChild.className = `state ${it.state}`;
      set(heardAgo, it.state === "self" ? "–" : it.heard < 0 ? "never" : `${age(it.heard)} ago`);
      set(trip, it.trip ? `${(it.trip / 1000).toFixed(it.trip < 10000 ? 2 : 0)} ms` : "–");
      set(
        suspected,
        it.suspicions
          ? `${count(it.suspicions, "time")}, ${it.mistakes} by mistake`
          : it.state === "self"
            ? "–"
            : "never",
      );
      set(address, [it.address, it.at && `reached at ${it.at}`, it.trouble].filter(Boolean).join(" · ") || "–");
    },
  );

const picture = () => drawMembers(byId("picture"), last.members || [], last.view.coordinator);

// ---- names ----

const client = (it) =>
  (it.client ? `${it.client} (${it.who})` : it.who) +
  (it.shared ? " shared" : "") +
  (it.ttl ? ` · ttl ${seconds(it.ttl)}` : "") +
  (it.forced ? " · forced to end" : it.asked ? " · asked back" : "");

const showName = (line, it) => {
  const [name, holder, since, fence, waiting] = line.children;
  const others = it.holding - it.holders.length;
  if (name.dataset.name !== it.name) {
    name.dataset.name = it.name;
    const text = make("div");
    text.append(make("span", it.name));
    text.append(make("span", it.kind === "election" ? `election, ${it.algorithm}` : it.algorithm, "tag"));
    name.replaceChildren(text);
  }
  lines(
    holder,
    it.holders.length
      ? [...it.holders.map(client), ...(others ? [`and ${others} more`] : [])]
      : [it.waiting ? "another node, or nobody yet" : "nobody"],
  );
  lines(
    since,
    it.holders.length ? it.holders.map((one) => (one.since ? age(ago(one.since)) : "not known here")) : ["–"],
  );
  lines(fence, it.holders.length ? it.holders.map((one) => String(one.fence || "–")) : ["–"]);
  const rest = it.waiting - it.waiters.length;
  lines(
    waiting,
    it.waiters.length
      ? [
          ...it.waiters.map((one) => `${client(one)}, for ${age(ago(one.since))}`),
          ...(rest ? [`and ${rest.toLocaleString("en")} more`] : []),
        ]
      : ["–"],
  );
};

const names = () => {
  const wanted = byId("filter").value.toLowerCase();
  const all = last.names || [];
  const shown = all.filter((it) => it.name.toLowerCase().includes(wanted));
  const body = byId("names");
  if (body.firstElementChild && body.firstElementChild.firstElementChild.className === "none") body.replaceChildren();
  keyed(body, shown, (it) => `${it.kind} ${it.name}`, row("name", "held by", "for", "fence", "waiting"), showName);
  if (!shown.length) {
    const line = make("tr");
    line.append(
      make(
        "td",
        all.length ? "No name that is shown has these letters." : "Nobody holds or waits for anything here.",
        "none",
      ),
    );
    line.firstElementChild.colSpan = 5;
    body.replaceChildren(line);
  }
  const more = last.in_use - last.hidden - all.length;
  set(
    byId("more"),
    [
      more > 0 && `${count(more, "more name")} in use; those are shown that are waited for, or held, the longest.`,
      last.hidden > 0 && `${count(last.hidden, "name")} not shown: the rights of this reader do not include them.`,
    ]
      .filter(Boolean)
      .join(" "),
  );
};

// ---- what happened ----

const entry = () => {
  const line = make("li");
  const text = make("span");
  text.append(make("b"), document.createTextNode(""));
  line.append(make("time"), text);
  return line;
};

const fill = (line, time, kind, head, text) => {
  line.className = kind;
  set(line.children[0], time);
  set(line.children[1].firstChild, head);
  if (line.children[1].lastChild.data !== text) line.children[1].lastChild.data = text;
};

const events = () => {
  const list = last.events || [];
  keyed(
    byId("events"),
    [...list].reverse(),
    (it) => String(it.number),
    entry,
    (line, it) => fill(line, clock(it.time), it.level, it.event, ` ${it.text}`),
  );
  if (!last.events && !byId("events").childElementCount)
    byId("events").append(make("li", "Only for readers with the right admin.", "dim"));
};

const WORDS = { granted: "granted to", ended: "ended by", lost: "lost by" };

const recent = () => {
  keyed(
    byId("recent"),
    last.recent || [],
    (it) => String(it.number),
    entry,
    (line, it) => fill(line, when(it.at), it.change, it.name, ` ${WORDS[it.change]} ${it.who}, fence ${it.fence}`),
  );
  const passed = before ? last.changes - before.changes - (last.recent || []).length : 0;
  set(
    byId("rush"),
    passed > 0 ? `and ${passed.toLocaleString("en")} more in the last second` : last.changes ? "" : "Nothing yet.",
  );
};

// ---- messages ----

const messages = () => {
  const past = new Map();
  const flat = (snapshot) =>
    (snapshot ? snapshot.messages || [] : []).flatMap((policy, i) =>
      policy.kinds.map(([kind, sent, received]) => ({ key: `${i} ${kind}`, policy, kind, sent, received })),
    );
  for (const it of flat(before)) past.set(it.key, it.sent);
  keyed(
    byId("messages"),
    flat(last),
    (it) => it.key,
    () => {
      const line = row("names", "algorithm", "kind", "sent", "received", "sent a second")();
      for (const cell of [...line.children].slice(3)) cell.className = "number";
      return line;
    },
    (line, it) => {
      const texts = [
        it.policy.names === undefined ? "the group's coordinator" : it.policy.names,
        it.policy.algorithm,
        it.kind,
        it.sent.toLocaleString("en"),
        it.received.toLocaleString("en"),
        perSecond(it.sent, past.has(it.key) ? past.get(it.key) : it.sent),
      ];
      for (const [i, text] of texts.entries()) set(line.children[i], text);
    },
  );
  set(byId("more-messages"), last.more_messages ? `and ${count(last.more_messages, "more pattern")} of names` : "");
};

// ---- the link to the node ----

const draw = () => {
  document.body.classList.remove("waiting");
  for (const part of [health, glance, members, picture, names, events, recent, messages]) part();
};

const tick = () => {
  const silent = performance.now() - heard;
  const stale = !last || silent > SILENT_MS;
  document.body.classList.toggle("stale", Boolean(last) && stale);
  if (!last) set(byId("link"), "waiting for the node …");
  else if (stale) set(byId("link"), `no news for ${age(silent)}: the node is gone, or stands still`);
  else set(byId("link"), `live · ${clock(last.time)}`);
};

const listen = () => {
  if (source) source.close();
  source = new EventSource("/events");
  byId("full").hidden = true;
  source.onmessage = (event) => {
    before = last;
    last = JSON.parse(event.data);
    if (before && (before.started !== last.started || before.node !== last.node)) before = null;
    heard = performance.now();
    draw();
    tick();
  };
  source.addEventListener("full", () => {
    source.close();
    source = null;
    byId("full").hidden = false;
  });
  source.onerror = () => {
    if (source && source.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN_MS);
  };
};

const dark = matchMedia("(prefers-color-scheme: dark)");
const turn = () => {
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
};
dark.addEventListener("change", turn);
turn();
byId("again").addEventListener("click", listen);
byId("filter").addEventListener("input", () => last && names());
setInterval(tick, 1000);
tick();
listen();
