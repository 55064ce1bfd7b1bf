// The rules of prose: how long a sentence may be, words that stand twice, and words that the glossary forbids.
import { TextlintKernel } from '@textlint/kernel';
import markdown from '@textlint/textlint-plugin-markdown';
import pattern from '@textlint-rule/textlint-rule-pattern';
import sentenceLength from 'textlint-rule-sentence-length';

import glossary from './glossary.mjs';

const kernel = new TextlintKernel();
const own = (module) => module.default ?? module;

/** In characters, code included: about fifty words. */
const MOST = 300;
const rules = [
  { ruleId: 'sentence-length', rule: own(sentenceLength), options: { max: MOST } },
  {
    ruleId: 'twice',
    rule: own(pattern),
    options: { patterns: [{ pattern: '/\\b([A-Za-z]{2,})\\s+\\1\\b/', message: 'a word stands twice' }] },
  },
  { ruleId: 'glossary', rule: glossary },
];
const plugins = [{ pluginId: 'markdown', plugin: own(markdown) }];

/** What is wrong in a document, each with its line. */
export async function lint(filePath, text) {
  const { messages } = await kernel.lintText(text, { filePath, ext: '.md', plugins, rules });
  return messages.map(({ line, message }) => ({ line, message: message.split('\n')[0] }));
}
