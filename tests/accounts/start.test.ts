import { afterEach, expect, test } from "vitest";
import { cleanUpPrograms, dataFolder, runProgram, startProgram } from "../support/program.ts";

afterEach(cleanUpPrograms);
