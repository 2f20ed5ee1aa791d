// SDK generations that cannot share the project's zod 4 and LangChain core 1: this folder is an npm workspace with their own versions.

export { createGoogleGenerativeAI as createGoogle1 } from '@ai-sdk/google'
export { ChatAnthropic as ChatAnthropic0 } from '@langchain/anthropic'
export * as langchainMessages0 from '@langchain/core/messages'
export * as ai4 from 'ai'
export { default as OpenAI4 } from 'openai-4'
export { default as OpenAI5 } from 'openai-5'
