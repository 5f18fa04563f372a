import { Argument, type Command } from "commander";
import type { AddCommands } from "../cli.ts";

/**
 * The completion scripts by shell. They call `board complete` with the words so far, so that they always offer the commands of this
 * version.
 */
const SCRIPTS = {
  bash: `_board() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(board complete -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _board board`,
  zsh: `#compdef board
_board() {
  local -a candidates
  candidates=("\${(@f)$(board complete -- "\${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
  compadd -a candidates
}
compdef _board board`,
  fish: `complete -c board -f -a '(board complete -- (commandline -opc)[2..-1] 2>/dev/null)'`,
};

export const addCompletion: AddCommands = (program, { stdout }) => {
  program
    .command("completion")
    .description("Print the completion of a shell, such as: source <(board completion bash)")
    .addArgument(new Argument("<shell>").choices(Object.keys(SCRIPTS)))
    .action((shell: keyof typeof SCRIPTS) => void stdout.write(`${SCRIPTS[shell]}\n`));

  program
    .command("complete [words...]", { hidden: true })
    .description("Print what may follow the words")
    .action(
      (words: string[]) =>
        void stdout.write(
          candidatesAfter(program, words)
            .map((word) => `${word}\n`)
            .join(""),
        ),
    );
};

function candidatesAfter(program: Command, words: readonly string[]): string[] {
  let command = program;
  for (const word of words) command = command.commands.find((child) => child.name() === word) ?? command;
  const children = command.commands.map((child) => child.name()).filter((name) => name !== "complete");
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  const options = [...new Set([command, program])].flatMap(({ options }) => options.flatMap(({ long }) => long ?? []));
  return [...children, ...choices, ...options];
}
