export { consume as handler } from "./consume.ts";
