/** What terminals show: the last commands' output, and what is selected. */
import * as vscode from 'vscode';
import { plainOutput, tail } from './terminalText';

const MOST_CHARACTERS = 100_000;
const MOST_COMMANDS = 20;

interface Ran {
  command: string;
  output: string;
}

export class Terminals implements vscode.Disposable {
  private readonly ran = new WeakMap<vscode.Terminal, Ran[]>();
  private readonly subscription: vscode.Disposable;

  constructor() {
    // Only shells with VS Code's integration say what a command printed.
    this.subscription = vscode.window.onDidStartTerminalShellExecution((event) => {
      void this.record(event);
    });
  }

  dispose(): void {
    this.subscription.dispose();
  }

  /** The text of a terminal: the named one, otherwise the one in view. Empty if there is none. */
  async output(name = ''): Promise<{ label: string; text: string }> {
    const terminal = named(name);
    if (terminal === undefined) return { label: name, text: '' };
    const ran = this.ran.get(terminal) ?? [];
    const recorded = ran.map(({ command, output }) => `$ ${command}\n${output}`).join('\n');
    // Of a quick command the integration may report no output, or none yet.
    const known = ran.some(({ output }) => output.trim() !== '');
    const text = known ? recorded : (await this.screen(terminal)) || recorded;
    return { label: terminal.name, text: tail(text, MOST_CHARACTERS) };
  }

  /** What is selected in the terminal in view; empty if nothing is. */
  async selection(): Promise<{ label: string; text: string }> {
    const terminal = vscode.window.activeTerminal;
    if (terminal === undefined) return { label: '', text: '' };
    const text = await copied('workbench.action.terminal.copySelection');
    return { label: terminal.name, text: tail(plainOutput(text), MOST_CHARACTERS) };
  }

  /** Without the integration: all that the terminal holds, as if the user had copied it. */
  private async screen(terminal: vscode.Terminal): Promise<string> {
    if (terminal !== vscode.window.activeTerminal) terminal.show(true);
    await vscode.commands.executeCommand('workbench.action.terminal.selectAll');
    const text = await copied('workbench.action.terminal.copySelection');
    await vscode.commands.executeCommand('workbench.action.terminal.clearSelection');
    return plainOutput(text);
  }

  private async record({
    terminal,
    execution,
  }: vscode.TerminalShellExecutionStartEvent): Promise<void> {
    const one: Ran = { command: execution.commandLine.value, output: '' };
    const before = this.ran.get(terminal) ?? [];
    this.ran.set(terminal, [...before, one].slice(-MOST_COMMANDS));
    let raw = '';
    for await (const piece of execution.read()) {
      raw = tail(raw + piece, 2 * MOST_CHARACTERS);
      one.output = plainOutput(raw);
    }
  }
}

function named(name: string): vscode.Terminal | undefined {
  if (name === '') return vscode.window.activeTerminal ?? vscode.window.terminals.at(-1);
  return vscode.window.terminals.find((terminal) => terminal.name === name);
}

/** What a command copies to the clipboard, which is restored afterwards. */
async function copied(command: string): Promise<string> {
  const { clipboard } = vscode.env;
  const before = await clipboard.readText();
  await clipboard.writeText('');
  try {
    await vscode.commands.executeCommand(command);
    return await clipboard.readText();
  } finally {
    await clipboard.writeText(before);
  }
}
