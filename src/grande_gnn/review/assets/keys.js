// A key for each class: digits first, then letters without those that mean something else.
const RESERVED = "unsz";
const KEYS = [..."1234567890", ...[..."abcdefghijklmnopqrstuvwxyz"].filter((letter) => !RESERVED.includes(letter))];

export const MANY = KEYS.length;
export const keyOf = (place) => KEYS[place] ?? "";
export const placeOf = (key) => KEYS.indexOf(key.toLowerCase());

export const HELP = [
  ["1 … 9, 0, a, b, …", "give the image that class"],
  ["Enter", "accept the label that is shown"],
  ["n", "none of these classes"],
  ["s", "skip"],
  ["← →", "move without deciding"],
  ["u", "undo, even what was saved"],
  ["space", "select; the next class key labels all that are selected"],
  ["shift + click", "select a range in a gallery"],
  ["Escape", "clear the selection"],
  ["/", "find a class by its name, or type a new one"],
  ["z", "enlarge the image"],
  ["?", "this list"],
];
