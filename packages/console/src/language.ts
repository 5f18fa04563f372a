import { effect, signal } from "@preact/signals";

/** The languages that can be chosen, each with its own name for itself. */
export const LANGUAGES = [
  ["en-GB", "English (UK)"],
  ["en-US", "English (US)"],
  ["de", "Deutsch"],
  ["es", "Español"],
  ["fr", "Français"],
  ["it", "Italiano"],
  ["nl", "Nederlands"],
  ["pl", "Polski"],
  ["pt-BR", "Português (Brasil)"],
  ["sv", "Svenska"],
  ["ja", "日本語"],
  ["ko", "한국어"],
  ["zh-CN", "简体中文"],
] as const;
const KEY = "board.language";

const stored = localStorage.getItem(KEY);
/** The language of dates and numbers. Undefined is the language of the browser. */
export const language = signal<string | undefined>(LANGUAGES.find(([tag]) => tag === stored)?.[0]);

effect(() => {
  if (language.value === undefined) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, language.value);
});

/**
 * Returns a function that returns a formatter for the chosen language. Formatters take long to create, so one is kept until another
 * language is chosen. The parts of the page that used it are then drawn again.
 */
export function inLanguage<Formatter>(create: (tag: string | undefined) => Formatter): () => Formatter {
  let kept: { tag: string | undefined; formatter: Formatter } | undefined;
  return () => {
    const tag = language.value;
    if (!kept || kept.tag !== tag) kept = { tag, formatter: create(tag) };
    return kept.formatter;
  };
}

/** Returns a function that formats instants in the chosen language. */
export function dateFormat(options: Intl.DateTimeFormatOptions): (at: string) => string {
  const formatter = inLanguage((tag) => new Intl.DateTimeFormat(tag, options));
  return (at) => formatter().format(new Date(at));
}

/** Returns the language that is used, as a tag of HTML. A browser may report another form of it. */
export const usedLanguage = inLanguage((tag) => new Intl.DateTimeFormat(tag).resolvedOptions().locale);
