// How is an agent? In one word and one mood, in an order that puts those first who have something open.

const STATES = {
  here: { words: "here", mood: "good", order: 0 },
  silent: { words: "silent", mood: "warn", order: 1 },
  shared: { words: "shared", mood: "info", order: 2 },
  "not seen yet": { words: "not seen yet", mood: "quiet", order: 3 },
  "shut down": { words: "shut down", mood: "quiet", order: 4 },
  left: { words: "left", mood: "quiet", order: 5 },
};

export const presenceWords = (state) => STATES[state] || { words: state, mood: "quiet", order: 6 };

/** Those who are here first; among equals by name. */
export const sorted = (team) =>
  [...team].sort(
    (one, other) =>
      presenceWords(one.state).order - presenceWords(other.state).order ||
      one.member.name.localeCompare(other.member.name),
  );
