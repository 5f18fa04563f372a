/** What the tests use of a page; the package with its types is not among this project's own. */
export interface Page {
  goto(url: string): Promise<unknown>;
  /** The value of an expression in the page, by way of JSON. */
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

/** Starts a browser without a screen, from the packages that `install.ts` has brought. */
export async function openBrowser(): Promise<Browser> {
  const load = async (name: string) => ((await import(name)) as { default: unknown }).default;
  const chromium = (await load("@sparticuz/chromium")) as Packages["chromium"];
  const puppeteer = (await load("puppeteer-core")) as Packages["puppeteer"];
  return puppeteer.launch({ args: chromium.args, executablePath: await chromium.executablePath(), headless: "shell" });
}
