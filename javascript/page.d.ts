/** What the page may assume of the document: elements are its own, and listeners know what they listen to. */

interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}
interface EventTarget {
  checked?: any;
  closest?: any;
  value?: any;
}
interface Event {
  detail?: any; // of a CustomEvent
}
