"""Resumes a LangGraph graph in Python after LangChain's human-in-the-loop middleware paused it: people decide on any
screen, and it waits as long as it takes. The same interrupts again are the same ask.

    result = graph.invoke(state, config)
    while result.get("__interrupt__"):
        result = graph.invoke(Command(resume=decisions(result["__interrupt__"])), config)
"""

import json
import sys

from askbus.langgraph import decisions

if __name__ == "__main__":  # frames that were recorded come on standard input
    print(json.dumps(decisions(json.load(sys.stdin))))
