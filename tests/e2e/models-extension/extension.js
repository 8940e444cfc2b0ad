// Registers a language model as any extension may; it answers with what it was sent.
const vscode = require('vscode');

const said = (message) =>
  message.content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : '')).join('');

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.lm.registerLanguageModelChatProvider('acme', {
      provideLanguageModelChatInformation: () => [
        {
          id: 'parrot',
          name: 'Parrot',
          family: 'parrot',
          version: '1',
          maxInputTokens: 20000,
          maxOutputTokens: 2000,
          capabilities: { toolCalling: true },
        },
      ],
      provideLanguageModelChatResponse: async (_model, messages, _options, progress) => {
        const heard = messages.map(said).join('\n');
        const words = ['Parrot ', 'heard ', `${heard.includes('ABSOLUTE_ZERO')} `, 'about the file.'];
        for (const word of words) {
          progress.report(new vscode.LanguageModelTextPart(word));
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      },
      provideTokenCount: async (_model, text) => Math.ceil(String(text).length / 4),
    }),
  );
};
