/** Where a shell's people keep their settings, and how our few lines stand there: between two marks, so that they can be found and taken out. */
export interface Profile {
  /** Below the person's home folder. */
  readonly file: string;
  readonly line: string;
}

const BEGIN = "# >>> gw setup-shell >>>";
const END = "# <<< gw setup-shell <<<";

/** Null for a shell that we do not know: then the person is told what to add. */
export function profileOf(shell: string): Profile | null {
  switch (shell.slice(shell.lastIndexOf("/") + 1)) {
    case "bash":
      return { file: ".bashrc", line: POSIX };
    case "zsh":
      return { file: ".zshrc", line: POSIX };
    case "sh":
    case "dash":
    case "ksh":
      return { file: ".profile", line: POSIX };
    case "fish":
      return { file: ".config/fish/config.fish", line: 'fish_add_path --prepend "$HOME/.local/bin"' };
    default:
      return null;
  }
}

/** The text with our block in it, once. */
export function addBlock(text: string, line: string): string {
  const rest = removeBlock(text);
  const gap = rest === "" || rest.endsWith("\n") ? "" : "\n";
  return `${rest}${gap}${BEGIN}\n${line}\n${END}\n`;
}

/** The text without our block. A block whose end is missing is left alone: what follows it may be somebody's own. */
export function removeBlock(text: string): string {
  const from = text.indexOf(`${BEGIN}\n`);
  const end = from < 0 ? -1 : text.indexOf(`${END}\n`, from);
  return end < 0 ? text : text.slice(0, from) + text.slice(end + END.length + 1);
}

const POSIX = 'export PATH="$HOME/.local/bin:$PATH"';
