/** Types of what the page uses of lit. */

export interface TemplateResult {
  strings: TemplateStringsArray;
  values: unknown[];
}
export interface Ref<T extends Element = Element> {
  readonly value?: T;
}
type Template = (strings: TemplateStringsArray, ...values: unknown[]) => TemplateResult;

export class LitElement extends HTMLElement {
  static properties: Record<string, object>;
  readonly hasUpdated: boolean;
  readonly updateComplete: Promise<boolean>;
  /** Properties that are declared in `static properties`. */
  [property: string]: any;
  requestUpdate(name?: PropertyKey, before?: unknown): void;
  connectedCallback(): void;
  disconnectedCallback(): void;
  protected createRenderRoot(): HTMLElement | DocumentFragment;
  protected shouldUpdate(changed: Map<PropertyKey, unknown>): boolean;
  protected willUpdate(changed: Map<PropertyKey, unknown>): void;
  protected update(changed: Map<PropertyKey, unknown>): void;
  protected firstUpdated(changed: Map<PropertyKey, unknown>): void;
  protected updated(changed: Map<PropertyKey, unknown>): void;
  protected render(): unknown;
}
export const html: Template;
export const svg: Template;
export const nothing: any; // as the answer of a method that others override
export function render(template: unknown, container: Element | DocumentFragment): object;
export function repeat<T>(
  items: Iterable<T>,
  key: (item: T, index: number) => unknown,
  template?: (item: T, index: number) => unknown,
): unknown;
export function classMap(classes: Record<string, unknown>): unknown;
export function live(value: unknown): unknown;
export function createRef<T extends Element = HTMLElement>(): Ref<T>;
export function ref(to?: Ref | ((element?: Element) => void)): unknown;
export function unsafeHTML(markup: string | null | undefined): unknown;
