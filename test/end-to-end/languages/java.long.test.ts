// Alone: one file for each language, so that its programs do not share the processors.

import t from 'tap'
import { PROGRAMS_MS, testLanguage } from './gateway-checks.ts'
import { whyNotBuilt } from './toolchains.ts'

t.test('the SDKs of Java and LangChain4j', { skip: whyNotBuilt('java'), timeout: PROGRAMS_MS }, t =>
  testLanguage(t, 'java', {
    'openai-java': 10,
    'openai-java responses': 5,
    'anthropic-java': 8,
    'google-genai java': 10,
    'langchain4j-open-ai': 5,
    'langchain4j-anthropic': 5,
    'langchain4j-google-ai-gemini': 5
  })
)
