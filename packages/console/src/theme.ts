import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
export const THEMES: readonly Theme[] = ["system", "light", "dark"];
const KEY = "board.theme";

const stored = localStorage.getItem(KEY);
export const theme = signal<Theme>(THEMES.find((name) => name === stored) ?? "system");

export const nextTheme = (): void => {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
};

effect(() => {
  const { documentElement } = document;
  if (theme.value === "system") {
    delete documentElement.dataset["theme"];
    localStorage.removeItem(KEY);
  } else {
    documentElement.dataset["theme"] = theme.value;
    localStorage.setItem(KEY, theme.value);
  }
});
