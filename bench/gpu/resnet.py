"""ResNet-50 (He et al., https://arxiv.org/abs/1512.03385, with the stride in the 3x3 convolution, as torchvision has it),
because a machine may lack torchvision. Labels are random, so weights are PyTorch's defaults."""
from torch import nn


def convolution(inputs, outputs, size, stride=1):
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions beside a shortcut; four times `width` channels leave."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            convolution(inputs, width, 1), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            convolution(width, width, 3, stride), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            convolution(width, outputs, 1), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        self.last = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.last(self.body(x) + self.shortcut(x))


def resnet50(classes=1000):
    """Pictures [N, 3, H, W] to logits [N, classes]."""
    layers = [convolution(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for n in range(depth):
            layers.append(Bottleneck(inputs, width, stride if n == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))
