/** The part of a page that the tests use. The browser package with the full types is installed separately. */
export interface Page {
  goto(url: string): Promise<unknown>;
  /** Evaluates an expression in the page and returns its value through JSON. */
  evaluate(expression: string): Promise<unknown>;
  on(event: "pageerror", listener: (error: Error) => void): void;
}

export interface Browser {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

interface Packages {
  chromium: { args: string[]; executablePath(): Promise<string> };
  puppeteer: { launch(options: { args: string[]; executablePath: string; headless: "shell" }): Promise<Browser> };
}

/** Starts a headless browser from the packages that `install.ts` installed. */
export async function openBrowser(): Promise<Browser> {
  const load = async (name: string) => ((await import(name)) as { default: unknown }).default;
  const chromium = (await load("@sparticuz/chromium")) as Packages["chromium"];
  const puppeteer = (await load("puppeteer-core")) as Packages["puppeteer"];
  return puppeteer.launch({ args: chromium.args, executablePath: await chromium.executablePath(), headless: "shell" });
}
